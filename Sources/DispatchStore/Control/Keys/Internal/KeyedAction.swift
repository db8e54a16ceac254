import Foundation

/// The action for which an idempotency key was used.
enum KeyedAction: Sendable {
  case action(KeyedValue)
  case list([KeyedValue])
  /// The action as it was loaded, with its value if that can be compared.
  case saved(name: String, SavedValue?)

  /// The name of the action's type; of a list, those of the first types.
  func name(_ keeper: CompanionKeeper?) -> String { name(by: keeper?.name ?? { _ in nil }) }

  /// The name by the names under which actions are saved.
  func name(by named: (any ActionType.Type) -> String?) -> String {
    func name(of value: KeyedValue) -> String { named(value.type) ?? TypeName.of(value.type) }
    switch self {
    case .action(let value): return name(of: value)
    case .list(let list):
      let names = list.prefix(10).map(name).joined(separator: ", ")
      return "a list of \(list.count) actions (\(names)\(list.count > 10 ? ", …" : ""))"
    case .saved(let name, _): return name
    }
  }

  /// Whether a repeat has the same action: of the same type, and with the same value if values can be compared.
  func isRepeated(by other: KeyedAction, _ keeper: CompanionKeeper?) -> Bool {
    switch (self, other) {
    case (.action(let former), .action(let new)): return former.isRepeated(by: new)
    case (.list(let former), .list(let new)):
      return former.count == new.count && zip(former, new).allSatisfy { $0.isRepeated(by: $1) }
    case (.saved(let name, let value), _):
      guard other.mayBeSaved(as: name, keeper) else { return false }
      guard case .action(let new) = other, let value, let keeper, let type = new.decodableType
      else { return true }
      guard let former = try? keeper.decode(type, value.data) as? any ActionType else {
        return new.isAfterDeployment(of: value, keeper)
      }
      return KeyedValue(former).isRepeated(by: new)
    default: return false
    }
  }

  /// Whether the action, or the list, may have been saved under a name.
  private func mayBeSaved(as name: String, _ keeper: CompanionKeeper?) -> Bool {
    if let single, let type = keeper?.actionType(name) { return type == single.type }
    // A type that the coder does not know may have got a name of its own since.
    return name == self.name(keeper) || name == self.name(by: { _ in nil })
  }

  private var single: KeyedValue? { if case .action(let value) = self { value } else { nil } }

  /// The action, to be saved; nil if a repeat could not be compared with it.
  var comparable: (any Encodable)? {
    guard let single, single.decodableType != nil else { return nil }
    return single.value as? any Encodable
  }

  /// The type of the replies; nil for a list of actions.
  var replyType: (any Sendable.Type)? { single.map { Self.replyType($0.type) } }

  /// Whether a value is a reply to the action; false for a list of actions.
  func isAnswered(by reply: any Sendable) -> Bool {
    single.map { Self.isReply(reply, to: $0.type) } ?? false
  }

  private static func isReply<Action: ActionType>(
    _ reply: any Sendable, to type: Action.Type
  ) -> Bool {
    reply is Action.Reply
  }

  private static func replyType<Action: ActionType>(_ type: Action.Type) -> any Sendable.Type {
    Action.Reply.self
  }
}

/// An action, as far as a repeat is compared with it: its value if that is `Equatable`, otherwise its type alone.
///
/// So a remembered key keeps no payload that nobody compares. An action in its wrapping is compared without that.
struct KeyedValue: Sendable {
  let type: any ActionType.Type
  /// Nil if values can't be compared.
  let value: (any ActionType)?

  init(_ action: any ActionType) {
    // Asks the type first: a cast of a value takes longer, and most actions have no wrapping.
    let isWrapped = Swift.type(of: action) is any WrappedAction.Type
    let action = isWrapped ? (action as? any WrappedAction)?.base ?? action : action
    type = Swift.type(of: action)
    value = type is any Equatable.Type ? action : nil
  }

  func isRepeated(by other: KeyedValue) -> Bool {
    guard let value = value as? any Equatable else { return type == other.type }
    return Self.isEqual(value, other.value)
  }

  /// Whether it repeats a saved value that its type can't decode: one that a deployment has added properties to, say.
  func isAfterDeployment(of saved: SavedValue, _ keeper: CompanionKeeper) -> Bool {
    // A value that could not be encoded was reported, and can't be compared.
    if saved.data.isEmpty { return true }
    guard let value = value as? any Encodable else { return false }
    return keeper.hasAll(value, saved.data)
  }

  /// The type by which a saved value is decoded; nil if that could not be compared.
  var decodableType: CompanionKeeper.DecodableType? {
    value == nil ? nil : type as? CompanionKeeper.DecodableType
  }

  private static func isEqual<Value: Equatable>(_ one: Value, _ other: (any ActionType)?) -> Bool {
    other as? Value == one
  }
}
