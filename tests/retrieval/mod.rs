mod chunk;
mod corpus;
mod fold;
mod given;
mod index;
