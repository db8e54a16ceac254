/// An action that can be encoded, with its name, as `EncodedAction` does.
///
///     struct Deposit: EncodableAction, Decodable { let amount: Int }
///
///     let data = try JSONEncoder().encode(EncodedAction(Deposit(amount: 5)))
///     // {"payload":{"amount":5},"type":"Deposit"}
///
/// `ActionCoder` decodes it.
public protocol EncodableAction: ActionType, Encodable {
  /// What its encoded form says for its type; the type's name, unless it says otherwise.
  ///
  /// The name is without the module, and with the types that it is nested in: `Stock.Action`. Forms that are kept
  /// outlive the names of types: give one that stays.
  static var actionName: String { get }
}

extension EncodableAction {
  /// The type's name.
  public static var actionName: String { TypeName.of(Self.self) }
}

/// An action that can be encoded and decoded.
public typealias CodableAction = EncodableAction & Decodable
