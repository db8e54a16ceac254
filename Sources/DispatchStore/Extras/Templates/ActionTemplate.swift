/// An action type that you declare in one line; its actions are made at the dispatch.
///
///     enum FetchTodos: ActionTemplate { typealias Payload = Int }
///     enum ClearTodos: ActionTemplate {}
///
///     dispatcher.dispatch(action: FetchTodos.action(3))
///     dispatcher.dispatch(action: ClearTodos.action())
///
/// Each template has an action type, such as `FetchTodos.Action`. Stores and middlewares match this type like any
/// other; a store that does not handle it takes no part. An action is `Equatable`, `Hashable` and `Codable` if its
/// payload is.
public protocol ActionTemplate: Sendable {
  /// The payload of an action; by default none.
  associatedtype Payload: Sendable = NoPayload
  /// The type of the template's actions.
  typealias Action = TemplateAction<Self>

  /// The name of the template's actions in logs and in encoded forms; by default the type's name.
  ///
  /// The default name is without the module, and includes the enclosing types: `Todos.Fetch`.
  static var id: String { get }
}

extension ActionTemplate {
  /// The type's name.
  public static var id: String { TypeName.of(Self.self) }

  /// Makes an action.
  public static func action(_ payload: Payload) -> Action {
    TemplateAction(payload: payload)
  }
}

extension ActionTemplate where Payload == NoPayload {
  /// Makes an action.
  public static func action() -> Action { action(NoPayload()) }
}

/// The payload of an action without data.
///
/// Unlike `Void`, this type is `Hashable` and `Codable`.
public struct NoPayload: Hashable, Codable, Sendable {}

/// An action of a template.
public struct TemplateAction<Template: ActionTemplate>: ActionType {
  /// The action's payload.
  public let payload: Template.Payload

  /// The template's name.
  public var id: String { Template.id }
}

extension TemplateAction: Equatable where Template.Payload: Equatable {}
extension TemplateAction: Hashable where Template.Payload: Hashable {}

extension TemplateAction: CustomStringConvertible {
  /// The template's name with the payload, such as `FetchTodos(3)`.
  public var description: String {
    switch payload {
    case is NoPayload: "\(id)()"
    case let text as String: "\(id)(\(text.debugDescription))"
    default: "\(id)(\(payload))"
    }
  }
}
