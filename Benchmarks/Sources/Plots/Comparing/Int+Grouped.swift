extension Int {
  /// With a comma after the thousands.
  var grouped: String {
    self < 1_000 ? "\(self)" : (self / 1_000).grouped + "," + "\(1_000 + self % 1_000)".dropFirst()
  }
}
