#if canImport(SwiftUI)
  public import SwiftUI
#elseif SWIFTUI_STANDIN
  // Tests/CombineSupport compiles this file on Linux.
  public import DispatchStore
  public import SwiftUIStandIn
#endif

#if canImport(SwiftUI) || SWIFTUI_STANDIN
  extension Store {
    /// A binding to a part of the model, which is changed by an action.
    ///
    /// The view that reads it is updated as by any read of the store.
    ///
    /// - Parameters:
    ///   - get: Reads the part, in the store's exclusive section: it reads its argument alone, and is quick.
    ///   - send: Makes the action for a new value.
    ///   - mode: How the action is dispatched; with `.sync`, the new value can be read when it is set.
    @MainActor
    public func binding<Value>(
      get: @escaping @Sendable (Model) -> Value, send: @escaping @Sendable (Value) -> Action,
      mode: Dispatcher.Mode = .sync
    ) -> Binding<Value> {
      Binding(
        get: { self.withModel(get) },
        set: { self.dispatch(send($0), mode: mode) })
    }

    /// A binding to a property of the model, which is changed by an action.
    ///
    /// - Parameters:
    ///   - keyPath: The property.
    ///   - send: Makes the action for a new value.
    ///   - mode: How the action is dispatched; with `.sync`, the new value can be read when it is set.
    @MainActor
    public func binding<Value>(
      _ keyPath: any KeyPath<Model, Value> & Sendable,
      send: @escaping @Sendable (Value) -> Action, mode: Dispatcher.Mode = .sync
    ) -> Binding<Value> {
      binding(get: { $0[keyPath: keyPath] }, send: send, mode: mode)
    }
  }
#endif
