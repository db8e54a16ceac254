/// An action that is declared in one line, and made where it is dispatched.
///
///     enum FetchTodos: ActionTemplate { typealias Payload = Int }
///     enum ClearTodos: ActionTemplate {}
///
///     dispatcher.dispatch(action: FetchTodos.action(3))
///     dispatcher.dispatch(action: ClearTodos.action())
///
/// Each template has an action type, `FetchTodos.Action`: stores and middlewares are found by it, as by any
/// other, and a store that has none for it does not take part. An action is `Equatable`, `Hashable` and
/// `Codable` where its payload is.
public protocol ActionTemplate: Sendable {
  /// What an action carries; none, unless the template says so.
  associatedtype Payload: Sendable = NoPayload
  /// The type of its actions.
  typealias Action = TemplateAction<Self>

  /// The name of its actions in logs and in encoded forms; the type's name, unless the template says otherwise.
  ///
  /// The name is without the module, and with the types that it is nested in: `Todos.Fetch`.
  static var id: String { get }
}

extension ActionTemplate {
  /// The type's name.
  public static var id: String { TypeName.of(Self.self) }

  /// Makes an action.
  public static func action(_ payload: Payload) -> Action {
    TemplateAction(payload: payload)
  }

  /// The payload of an action, where it is one of this template's.
  public static func payload(of action: AnyAction) -> Payload? {
    (action as? Action)?.payload
  }
}

extension ActionTemplate where Payload == NoPayload {
  /// Makes an action.
  public static func action() -> Action { action(NoPayload()) }
}

extension ActionTemplate where Payload == Void {
  /// Makes an action.
  public static func action() -> Action { action(()) }
}

/// The payload of an action that carries nothing.
///
/// Unlike `Void`, it is `Hashable` and `Codable`.
public struct NoPayload: Hashable, Codable, Sendable {
  /// Makes one.
  public init() {}
}

/// An action of a template.
public struct TemplateAction<Template: ActionTemplate>: ActionType {
  /// What it carries.
  public let payload: Template.Payload

  /// Makes one, as `ActionTemplate.action(_:)`.
  public init(payload: Template.Payload) {
    self.payload = payload
  }

  /// The template's name.
  public var id: String { Template.id }
}

extension TemplateAction: Equatable where Template.Payload: Equatable {}
extension TemplateAction: Hashable where Template.Payload: Hashable {}

extension TemplateAction: CustomStringConvertible {
  /// The template's name with the payload, such as `FetchTodos(3)`.
  public var description: String {
    switch payload {
    case is NoPayload, is Void: "\(id)()"
    case let text as String: "\(id)(\(text.debugDescription))"
    default: "\(id)(\(payload))"
    }
  }
}
