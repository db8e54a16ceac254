extension PartPath {
  /// The path to the payload of a case.
  @inlinable
  static func `case`<Whole: Sendable>(
    extract: @escaping @Sendable (Whole) -> Value?, embed: @escaping @Sendable (Value) -> Whole
  ) -> PartPath {
    PartPath(
      read: { whole, body in
        guard let value = extract(whole.assumingMemoryBound(to: Whole.self).pointee) else {
          return false
        }
        withUnsafePointer(to: value) { body($0) }
        return true
      },
      modify: { whole, body in
        let whole = whole.assumingMemoryBound(to: Whole.self)
        guard var value = extract(whole.pointee) else { return false }
        withUnsafeMutablePointer(to: &value) { body($0) }
        whole.pointee = embed(value)
        return true
      },
      name: { "the case of \(Whole.self) that holds \(Value.self)" })
  }
}
