import Foundation

/// The action for which an idempotency key was used.
enum KeyedAction: Sendable {
  case action(any ActionType)
  case list([any ActionType])
  /// The type of a remembered action whose values can't be compared.
  case typeOnly(any ActionType.Type)
  /// The action as it was loaded, with its value if that can be compared.
  case saved(name: String, SavedValue?)

  /// The name of the action's type; of a list, those of the first types.
  func name(_ keeper: CompanionKeeper?) -> String { name(by: keeper?.name ?? { _ in nil }) }

  /// The name by the names under which actions are saved.
  func name(by named: (any ActionType.Type) -> String?) -> String {
    func name(of type: any ActionType.Type) -> String { named(type) ?? TypeName.of(type) }
    switch self {
    case .action(let action): return name(of: type(of: action))
    case .typeOnly(let type): return name(of: type)
    case .list(let list):
      let names = list.prefix(10).map { name(of: type(of: $0)) }.joined(separator: ", ")
      return "a list of \(list.count) actions (\(names)\(list.count > 10 ? ", …" : ""))"
    case .saved(let name, _): return name
    }
  }

  /// Whether a repeat has the same action: of the same type, and with the same value if values can be compared.
  func isRepeated(by other: KeyedAction, _ keeper: CompanionKeeper?) -> Bool {
    switch (self, other) {
    case (.action(let former), .action(let new)): return Self.areEqual(former, new)
    case (.typeOnly(let former), .action(let new)): return former == type(of: new)
    case (.list(let former), .list(let new)):
      return former.count == new.count && zip(former, new).allSatisfy(Self.areEqual)
    default: break
    }
    guard name(keeper) == other.name(keeper) else { return false }
    guard case (.saved(_, let value?), .action(let new)) = (self, other), let keeper,
      let type = Self.comparableType(new),
      let former = try? keeper.decode(type, value.data) as? any ActionType
    else { return true }
    return Self.areEqual(former, new)
  }

  /// The action as a key remembers it: only its type, unless a repeat is compared with its value.
  var remembered: KeyedAction {
    if let action, !(action is any Equatable) { .typeOnly(type(of: action)) } else { self }
  }

  private var action: (any ActionType)? {
    if case .action(let action) = self { action } else { nil }
  }

  /// The action, to be saved; nil if a repeat could not be compared with it.
  var comparable: (any Encodable)? {
    guard let action, Self.comparableType(action) != nil else { return nil }
    return action as? any Encodable
  }

  /// The type of the replies; nil for a list of actions.
  var replyType: (any Sendable.Type)? { action.map { Self.replyType($0) } }

  private static func replyType<Action: ActionType>(_ action: Action) -> any Sendable.Type {
    Action.Reply.self
  }

  private static func comparableType(_ action: any ActionType) -> CompanionKeeper.DecodableType? {
    action is any Equatable ? type(of: action) as? CompanionKeeper.DecodableType : nil
  }

  private static func areEqual(_ one: any ActionType, _ other: any ActionType) -> Bool {
    guard let one = one as? any Equatable else { return type(of: one) == type(of: other) }
    return isEqual(one, other)
  }

  private static func isEqual<Value: Equatable>(_ one: Value, _ other: any ActionType) -> Bool {
    other as? Value == one
  }
}
