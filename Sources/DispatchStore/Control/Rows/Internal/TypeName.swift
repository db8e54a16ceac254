/// Names of types that are stable enough for a program to store.
enum TypeName {
  /// The name with the enclosing types, without the module and without the parts that differ between builds.
  static func of(_ type: any Any.Type) -> String {
    let full = String(reflecting: type)
    // The arguments of a generic type contain dots, too.
    let head = full.prefix { $0 != "<" }
    var steps = head.split(separator: ".").map(String.init)
    if steps.count > 1 { steps.removeFirst() }
    // A type inside a function is nested in "(unknown context at $…)"; so is a private type.
    steps.removeAll { $0.hasPrefix("(") }
    return steps.joined(separator: ".") + full.dropFirst(head.count)
  }
}
