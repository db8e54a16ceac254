import DispatchStore

/// A model, an action, a reducer and a middleware in a module that is main-actor by default.
struct Temperature: ModelType {
  var degrees = 0
}

struct SetTemperature: ActionType {
  var degrees: Int
}

final class TemperatureReducer: Reducer<Temperature, SetTemperature> {
  override func reduce(into model: inout Temperature, action: SetTemperature) {
    model.degrees = action.degrees
  }
}

final class Limit: Middleware {
  let highest: Int

  init(highest: Int) {
    self.highest = highest
  }

  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    guard let action = action as? SetTemperature, action.degrees > highest else { return .pass }
    return .replace(with: SetTemperature(degrees: highest))
  }
}
