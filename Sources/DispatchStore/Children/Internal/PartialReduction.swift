/// What the parts of a reduction have said of it: it changes nothing where each of them has said so.
struct PartialReduction {
  /// Whether no part has changed anything so far.
  private(set) var isUnchanged = true

  /// Has a part's reducer reduce, in the reduction of the whole's.
  mutating func reduce<Model, Action>(
    _ model: inout Model, _ action: Action, by reducer: Reducer<Model, Action>
  ) throws {
    let thread = ThreadState.current
    // What was said before this call, perhaps by the same reducer, is not about it.
    let before = thread.exchangeUnchanged(by: nil)
    defer {
      let said = thread.exchangeUnchanged(by: before)
      if said != ObjectIdentifier(reducer) { isUnchanged = false }
    }
    try reducer.reduce(into: &model, action: action)
  }

  /// Code that is no reducer may have changed something.
  mutating func noteChange() { isUnchanged = false }
}
