extension Optional {
  /// Returns the value, which is made first if there is none.
  mutating func madeIfNil(_ make: @autoclosure () -> Wrapped) -> Wrapped {
    if let present = self { return present }
    let made = make()
    self = made
    return made
  }
}
