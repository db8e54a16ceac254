/// An action that `EncodedAction` can encode, with its name.
///
///     struct Deposit: EncodableAction, Decodable { let amount: Int }
///
///     let data = try JSONEncoder().encode(EncodedAction(Deposit(amount: 5)))
///     // {"payload":{"amount":5},"type":"Deposit"}
///
/// To decode it, use `ActionCoder`.
public protocol EncodableAction: ActionType, Encodable {
  /// The type's name in encoded forms; by default the name of the Swift type.
  ///
  /// The default name is without the module, and includes the enclosing types: `Stock.Action`. If you store encoded
  /// actions, implement this with a name that you never change, because you may rename the type.
  static var actionName: String { get }
}

extension EncodableAction {
  /// The type's name.
  public static var actionName: String { TypeName.of(Self.self) }
}

/// An action that can be encoded and decoded.
public typealias CodableAction = EncodableAction & Decodable
