/// Which part of a text is at its point.
enum Anchor: String, Sendable {
  case start, middle, end
}
