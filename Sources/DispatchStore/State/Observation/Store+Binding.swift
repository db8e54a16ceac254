#if canImport(SwiftUI)
  public import SwiftUI
#elseif SWIFTUI_STANDIN
  // Tests/CombineSupport compiles this file on Linux.
  public import DispatchStore
  public import SwiftUIStandIn
#endif

#if canImport(SwiftUI) || SWIFTUI_STANDIN
  extension Store {
    /// Makes a binding to a part of the model, which an action changes.
    ///
    /// A view that reads the binding is updated as by any read of the store.
    ///
    /// - Parameters:
    ///   - get: Reads the part, in the store's exclusive section; must read only its argument, and be quick.
    ///   - send: Makes the action for a new value.
    ///   - mode: The mode of the dispatch. With `.sync`, the new value is readable as soon as it is set.
    ///   - fileID: The call site's file, also that of the dispatches.
    ///   - line: The call site's line.
    @MainActor
    public func binding<Value>(
      get: @escaping @Sendable (Model) -> Value, send: @escaping @Sendable (Value) -> Action,
      mode: Dispatcher.Mode = .sync, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Binding<Value> {
      Binding(
        get: { self.withModel(get) },
        set: { self.dispatch(send($0), mode: mode, fileID: fileID, line: line) })
    }

    /// Makes a binding to a property of the model, which an action changes.
    ///
    /// - Parameters:
    ///   - keyPath: The property.
    ///   - send: Makes the action for a new value.
    ///   - mode: The mode of the dispatch. With `.sync`, the new value is readable as soon as it is set.
    ///   - fileID: The call site's file, also that of the dispatches.
    ///   - line: The call site's line.
    @MainActor
    public func binding<Value>(
      _ keyPath: any KeyPath<Model, Value> & Sendable,
      send: @escaping @Sendable (Value) -> Action, mode: Dispatcher.Mode = .sync,
      fileID: StaticString = #fileID, line: UInt = #line
    ) -> Binding<Value> {
      binding(
        get: { $0[keyPath: keyPath] }, send: send, mode: mode, fileID: fileID, line: line)
    }
  }
#endif
