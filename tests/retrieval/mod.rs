mod chunk;
mod corpus;
mod given;
mod index;
