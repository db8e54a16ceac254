import DispatchStore

/// What a screen shows: main-actor state, kept by an observer on the main queue.
final class Thermostat {
  private(set) var shown: [Int] = []
  private let store: Store<Temperature, SetTemperature>
  private var token: ObserverToken?
  private var onShow: ((Int) -> Void)?

  init(dispatcher: Dispatcher) {
    dispatcher.register(middleware: Limit(highest: 30))
    store = dispatcher.register(store: Store(reducer: TemperatureReducer()))
    token = store.observe(.model, on: .main) { [weak self] change in
      self?.show(change.value.degrees)
    }
  }

  func set(_ degrees: Int) {
    store.dispatch(SetTemperature(degrees: degrees), mode: .serial)
  }

  /// The next temperature that is shown.
  func next() async -> Int {
    await withCheckedContinuation { continuation in
      onShow = { continuation.resume(returning: $0) }
    }
  }

  private func show(_ degrees: Int) {
    shown.append(degrees)
    let onShow = onShow
    self.onShow = nil
    onShow?(degrees)
  }
}
