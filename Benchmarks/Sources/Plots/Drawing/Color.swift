/// The colors; color-blind readers can distinguish those of the series, too.
enum Color {
  static let text = "#1f2328"
  static let quiet = "#59636e"
  static let axis = "#8c959f"
  static let grid = "#e4e8ec"
  static let blue = "#0072b2"
  static let orange = "#e69f00"
  static let red = "#c4400a"
}
