"""Scripts to try fitdoctor on."""
