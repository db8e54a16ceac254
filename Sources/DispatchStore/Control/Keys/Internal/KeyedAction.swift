import Foundation

/// The action for which an idempotency key was used.
struct KeyedAction: Sendable {
  /// The name of the action's type; of a list, those of the first types.
  let name: String
  private let content: Content

  private enum Content {
    case action(any ActionType)
    case list([any ActionType])
    /// The content was loaded, with the value of an action if that can be compared.
    case saved(SavedValue?)
  }

  init(_ action: any ActionType, _ keeper: CompanionKeeper?) {
    (name, content) = (Self.name(of: action, keeper), .action(action))
  }

  init(list: [any ActionType], _ keeper: CompanionKeeper?) {
    let names = list.prefix(10).map { Self.name(of: $0, keeper) }.joined(separator: ", ")
    name = "a list of \(list.count) actions (\(names)\(list.count > 10 ? ", …" : ""))"
    content = .list(list)
  }

  init(saved: SavedValue?, named name: String) {
    (self.name, content) = (name, .saved(saved))
  }

  private static func name(of action: any ActionType, _ keeper: CompanionKeeper?) -> String {
    keeper?.name(type(of: action)) ?? TypeName.of(type(of: action))
  }

  /// Whether a repeat has the same action: of the same type, and with the same value if values can be compared.
  func isRepeated(by other: KeyedAction, _ keeper: CompanionKeeper?) -> Bool {
    guard name == other.name else { return false }
    switch (content, other.content) {
    case (.action(let former), .action(let new)): return Self.areEqual(former, new)
    case (.list(let former), .list(let new)): return zip(former, new).allSatisfy(Self.areEqual)
    case (.saved(let value?), .action(let new)):
      guard let keeper, let type = Self.comparableType(new),
        let former = try? keeper.decode(type, value.data) as? any ActionType
      else { return true }
      return Self.areEqual(former, new)
    default: return true
    }
  }

  private var action: (any ActionType)? {
    if case .action(let action) = content { action } else { nil }
  }

  /// Returns the value to save: nil if a repeat could not be compared with it.
  func value(encodedBy encode: (any Encodable) throws -> Data) throws -> SavedValue? {
    guard let action, Self.comparableType(action) != nil, let value = action as? any Encodable
    else { return nil }
    return SavedValue(data: try encode(value))
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
