/// Names of types that a program may keep.
enum TypeName {
  /// The name with the types that it is nested in, without the module and without what differs between builds.
  static func of(_ type: any Any.Type) -> String {
    let full = String(reflecting: type)
    // The arguments of a generic type have dots, too.
    let head = full.prefix { $0 != "<" }
    var steps = head.split(separator: ".").map(String.init)
    if steps.count > 1 { steps.removeFirst() }
    // A type inside a function is nested in "(unknown context at $…)", a private one in such a context too.
    steps.removeAll { $0.hasPrefix("(") }
    return steps.joined(separator: ".") + full.dropFirst(head.count)
  }
}
