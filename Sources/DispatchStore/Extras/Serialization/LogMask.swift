/// Values that a recorder does not write into its log: card numbers, names, tokens.
///
///     let recorder = DispatchRecorder(masking: [.type(CardNumber.self), .field(\Customer.name)])
///
/// The log has `‹masked›` in their place, so you still see that they changed. An action with a masked value in it is
/// logged without its encoded form. So is one that holds an object, or says itself how it is reflected: it may have more in
/// it than can be seen. Of these, only the type is written. Texts of errors and keys of lanes are never masked, nor is what
/// a `Diagnosis` says of dispatches in flight.
public struct LogMask: Sendable {
  let type: ObjectIdentifier
  /// The field of the type; nil for the type as a whole.
  let field: String?

  /// Masks all values of a type, also where they are optional.
  ///
  /// - Precondition: The type is no protocol: values have types of their own.
  public static func type<Value>(_ type: Value.Type) -> LogMask {
    let type = DiffShape.unwrapped(type)
    if "\(Swift.type(of: type))".hasSuffix(".Protocol") {
      stopProgram("LogMask.type takes a type of values, and \(type) is a protocol.")
    }
    return LogMask(type: ObjectIdentifier(type), field: nil)
  }

  /// Masks a stored property of a type.
  ///
  /// A type that says itself how it is reflected may show the property in another one: a `DateInterval` without its
  /// start shows its end and its duration. Mask such a type as a whole.
  ///
  /// - Precondition: The key path is a single stored property of a struct or class.
  public static func field<Root, Value>(_ path: any KeyPath<Root, Value> & Sendable) -> LogMask {
    let text = "\(path)"
    let steps = text.split(separator: ".")
    let names = steps.dropFirst(String(describing: Root.self).split(separator: ".").count)
    // An element of a tuple has no name by which it is found again.
    guard let name = names.last, names.count == 1, name.first?.isNumber != true,
      path != \Root.self as AnyKeyPath,
      MemoryLayout<Root>.offset(of: path) != nil
        || Root.self is AnyClass
    else {
      stopProgram("LogMask.field takes a stored property, and \(text) is none. Mask its type.")
    }
    return LogMask(type: ObjectIdentifier(Root.self), field: String(name))
  }
}
