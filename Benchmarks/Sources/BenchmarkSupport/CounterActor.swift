/// The floor of isolation by the language: an actor around the same reduction.
public actor CounterActor {
  private var counter = Counter()

  /// Makes a counter.
  public init() {}

  /// Changes the counter for an action.
  public func reduce(_ action: Add) {
    counter.add(Int(action.amount))
  }

  /// The same after it has yielded.
  public func reduceLater(_ action: Add) async {
    await Task.yield()
    counter.add(Int(action.amount))
  }
}
