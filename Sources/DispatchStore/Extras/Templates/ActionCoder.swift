/// The action types that an `EncodedAction` may name, with their names.
///
///     let decoder = JSONDecoder()
///     decoder.userInfo[.actionCoder] = ActionCoder(Deposit.self, ClearTodos.Action.self)
///     let action = try decoder.decode(EncodedAction.self, from: data).action
///
/// A coder is a value: copies are independent, and you can use them on any thread.
public struct ActionCoder: Sendable {
  private var types: [String: any CodableAction.Type] = [:]
  private var names: [ObjectIdentifier: String] = [:]

  /// Makes a coder that knows these types by their own names.
  public init<each Action: CodableAction>(_ types: repeat (each Action).Type) {
    for type in repeat each types { register(type) }
  }

  /// Adds a type.
  ///
  /// - Parameters:
  ///   - type: The type. You may add a type again under a further name; the last name is used for encoding.
  ///   - name: The name in encoded forms; `Action.actionName` if nil.
  /// - Precondition: No other type has the name.
  public mutating func register<Action: CodableAction>(_ type: Action.Type, as name: String? = nil)
  {
    let name = name ?? type.actionName
    if let present = types[name], present != type {
      stopProgram(
        """
        Action type \(String(reflecting: type)) can't be registered as "\(name)": that is the name \
        of \(String(reflecting: present)). Register it with another name (as:), or give it an \
        actionName.
        """)
    }
    types[name] = type
    names[ObjectIdentifier(type)] = name
  }

  /// The name of a registered type.
  func name(of type: any ActionType.Type) -> String? { names[ObjectIdentifier(type)] }

  /// The name of a type in saved forms, also of one that is not registered; nil if that is its Swift name.
  func savedName(of type: any ActionType.Type) -> String? {
    name(of: type) ?? (type as? any CodableAction.Type)?.actionName
  }

  /// Why actions of a type can't be encoded and decoded; nil if they can.
  func obstacle(_ type: any ActionType.Type) -> String? {
    if name(of: type) != nil { return nil }
    return """
      Actions of type \(type) can't be saved: the persistence does not know the type. Let it conform to CodableAction, and pass \
      ActionCoder(\(type).self) as actions: to Persistence.
      """
  }

  func actionType(named name: String) throws -> any CodableAction.Type {
    guard let type = types[name] else {
      throw ActionCodingError.unknownName(name, known: types.keys.sorted())
    }
    return type
  }
}

extension CodingUserInfoKey {
  /// The key of the `ActionCoder` in the `userInfo` of a decoder, and of an encoder if actions are registered under
  /// names of their own.
  public static let actionCoder = CodingUserInfoKey(rawValue: "DispatchStore.actionCoder")!
}

/// A reason why an action was not encoded or decoded; later versions may add cases.
@nonexhaustive
public enum ActionCodingError: Error, CustomStringConvertible {
  /// The form names an action that the coder does not know.
  case unknownName(String, known: [String])
  /// The action is not encodable.
  case notEncodable(any ActionType.Type)
  /// An `EncodedAction` was decoded without an `ActionCoder`.
  case noCoder(name: String)

  /// A description of the error, and of how to fix it.
  public var description: String {
    switch self {
    case .unknownName(let name, let known):
      """
      No action type is registered as "\(name)"; the coder knows \
      \(known.isEmpty ? "none" : known.joined(separator: ", ")). Register it with \
      ActionCoder.register(_:as:).
      """
    case .notEncodable(let type):
      "An action of type \(type) can't be encoded. Let it conform to CodableAction."
    case .noCoder(let name):
      """
      An EncodedAction ("\(name)") can't be decoded without the types of actions. Set \
      userInfo[.actionCoder] of the decoder to an ActionCoder.
      """
    }
  }
}
