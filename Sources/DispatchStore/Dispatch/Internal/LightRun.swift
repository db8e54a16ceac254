/// A `.sync` dispatch on its way through stores that need no record of it.
///
/// Nobody has a handle of it before it has ended. Somebody may have to know more of it than its
/// transaction all the same: on whose behalf an observed store is changed, or what a wait holds up. Then the
/// record is made, and is the context of what runs there from then on.
struct LightRun {
  /// Where it ended.
  enum End {
    case finished
    /// A record has to go on from a place: with how the store before it ended, where that did not finish.
    case leaves(at: Int, after: StoreOutcome?)
    /// The record that was made goes on after a store.
    case recorded(Dispatch, at: Int, after: StraightStep)
  }

  let id: TransactionID
  private let given: Unmanaged<Route>
  private let action: UnsafeRawPointer
  private let callSite: CallSite
  private let dispatcher: Unmanaged<Dispatcher>
  /// The one around it, on this thread.
  let around: ThreadState.Light
  /// The action around it, while its own record is there.
  private(set) var outerAction: UnsafeRawPointer?
  private var place = 0
  private var record: Dispatch?

  @inline(__always)
  init(
    _ id: TransactionID, to given: Unmanaged<Route>, _ action: UnsafeRawPointer,
    _ callSite: CallSite, of dispatcher: Dispatcher, on thread: ThreadState
  ) {
    self.id = id
    self.given = given
    self.action = action
    self.callSite = callSite
    self.dispatcher = .passUnretained(dispatcher)
    around = thread.light
  }

  /// Runs store after store; `responders` are those that it was made with.
  @inline(__always)
  mutating func run(
    through responders: Route, from first: Int, on thread: ThreadState
  ) -> End {
    let (around, action) = (around, action)
    return withUnsafeMutablePointer(to: &self) { run in
      thread.light = ThreadState.Light(transaction: run.pointee.id.rawValue, run: run)
      for place in first..<responders.count {
        run.pointee.place = place
        let answer = responders.answerLightly(action, at: place, on: thread)
        if let record = run.pointee.record.take() {
          // Still inside the record's context, which puts the one around aside until it is left.
          return .recorded(record, at: place, after: StraightStep(answer))
        }
        if case .done = answer { continue }
        thread.light = around
        if case .failed(let error) = answer {
          return .leaves(at: place + 1, after: .of(thrown: error))
        }
        return .leaves(at: place, after: nil)
      }
      thread.light = around
      return .finished
    }
  }

  /// Makes the record, and lets it be the context of what runs here.
  mutating func makeRecord(on thread: ThreadState) {
    // The one around it is its parent, and holds nothing: it needs no record for that.
    thread.light = around
    let dispatch = dispatcher._withUnsafeGuaranteedRef {
      $0.makeRecord(to: given, as: id, callSite, on: thread)
    }
    thread.light = ThreadState.Light()
    dispatch.beginHere(on: thread)
    dispatch.place = UInt16(truncatingIfNeeded: place)
    outerAction = dispatch.enterContext(at: action, on: thread)
    record = dispatch
  }
}
