/// Encodes actions with their names, and decodes them by the registered types.
///
///     let coder = ActionCoder(Deposit.self, ClearTodos.Action.self)
///     let data = try coder.encode(Deposit(amount: 5), with: JSONEncoder())
///     let action = try coder.decode(data, with: JSONDecoder())
///
/// A coder is a value: copies are independent, and you can use them on any thread.
public struct ActionCoder: Sendable {
  private var types: [String: any CodableAction.Type] = [:]
  private var names: [ObjectIdentifier: String] = [:]
  /// The coder of the current call, on its thread and in its task.
  @TaskLocal private static var current: ActionCoder?

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

  /// The registered names, sorted.
  public var actionNames: [String] { types.keys.sorted() }

  /// Encodes an action in its form, with its name.
  ///
  /// The type need not be registered, if the action is an `EncodableAction`.
  public func encode<Encoder: ValueEncoder>(
    _ action: AnyAction, with encoder: Encoder
  ) throws -> Encoder.Output {
    try encodeValue(EncodedAction(action), with: encoder)
  }

  /// Decodes an action from its form; throws `ActionCodingError.unknownName` if its type is not registered.
  public func decode<Decoder: ValueDecoder>(
    _ input: Decoder.Input, with decoder: Decoder
  ) throws -> AnyAction {
    try decodeValue(EncodedAction.self, from: input, with: decoder).action
  }

  /// Encodes a value that contains `EncodedAction`s, such as a list of them.
  public func encodeValue<Encoder: ValueEncoder, Value: Encodable>(
    _ value: Value, with encoder: Encoder
  ) throws -> Encoder.Output {
    try Self.$current.withValue(self) { try encoder.encode(value) }
  }

  /// Decodes a value that contains `EncodedAction`s, such as a list of them.
  public func decodeValue<Decoder: ValueDecoder, Value: Decodable>(
    _ type: Value.Type, from input: Decoder.Input, with decoder: Decoder
  ) throws -> Value {
    try Self.$current.withValue(self) { try decoder.decode(type, from: input) }
  }

  static func inScope(_ userInfo: [CodingUserInfoKey: Any]) -> ActionCoder? {
    userInfo[.actionCoder] as? ActionCoder ?? current
  }

  func name(of action: any EncodableAction) -> String? {
    names[ObjectIdentifier(type(of: action))]
  }

  /// The name of a registered type.
  func name(of type: any ActionType.Type) -> String? { names[ObjectIdentifier(type)] }

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
      throw ActionCodingError.unknownName(name, known: actionNames)
    }
    return type
  }
}

extension CodingUserInfoKey {
  /// The key for the `ActionCoder` in a decoder's `userInfo`, for decoding `EncodedAction`s.
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
      "An action of type \(type) can't be encoded. Let it conform to EncodableAction."
    case .noCoder(let name):
      """
      An EncodedAction ("\(name)") can't be decoded without the types of actions. Call \
      ActionCoder.decode(_:with:), or set userInfo[.actionCoder] of the decoder.
      """
    }
  }
}
