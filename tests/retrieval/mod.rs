mod given;
mod index;
