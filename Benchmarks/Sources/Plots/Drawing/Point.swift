/// A position in a drawing, from its upper left corner.
struct Point: Sendable {
  let x: Double
  let y: Double
}
