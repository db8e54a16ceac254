/// An action that `EncodedAction` can encode with its name, and decode.
///
///     struct Deposit: CodableAction { let amount: Int }
///
///     let data = try JSONEncoder().encode(EncodedAction(Deposit(amount: 5)))
///     // {"payload":{"amount":5},"type":"Deposit"}
///
/// To decode it, use an `ActionCoder`.
public protocol CodableAction: ActionType, Codable {
  /// The type's name in encoded forms; by default the name of the Swift type.
  ///
  /// The default name is without the module, and includes the enclosing types: `Stock.Action`. If you store encoded
  /// actions, implement this with a name that you never change, because you may rename the type.
  static var actionName: String { get }
}

extension CodableAction {
  /// The type's name.
  public static var actionName: String { TypeName.of(Self.self) }
}
