import DispatchStore
import Testing

/// Infos that a hook keeps.
@Suite("Infos of dispatches and store runs")
struct DispatchInfoTests {
  private enum Note: DispatchKey {
    typealias Value = Int
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func thatAHookKeepsStayThoseOfTheirActions(mode: Dispatcher.Mode) async {
    let kept = Recorder<StoreRunInfo>()
    var handles: [DispatchHandle] = []
    do {
      let dispatcher = Dispatcher(name: "kept")
      dispatcher.addProbe("s", to: Recorder())
      dispatcher.register(
        middleware: RecordingMiddleware(
          will: { context, _, _ in
            context[Note.self] = Int(context.id.number)
            return .pass
          },
          did: { context, _, _ in
            // Every other one, so that those between are reused.
            if context.dispatch.id.number.isMultiple(of: 2) { kept.record(context) }
          }))
      for _ in 0..<20 {
        let handle = dispatcher.dispatch(action: Ping(), mode: mode)
        _ = await handle.result
        handles.append(handle)
      }
    }
    let even = handles.map(\.dispatchID).filter { $0.number.isMultiple(of: 2) }
    #expect(kept.all.map(\.dispatch.id) == even)
    #expect(kept.all.map { $0.dispatch[Note.self] } == even.map { Int($0.number) })
    #expect(kept.all.allSatisfy { $0.outcome.isFinished && $0.dispatch.mode == mode })
    #expect(kept.all.allSatisfy { $0.duration >= .zero && $0.timeQueued >= .zero })
    // They keep the dispatcher, too.
    #expect(kept.all.allSatisfy { $0.dispatch.dispatcher.name == "kept" })
  }

  @Test func ofADispatchInsideAHookAreOthers() {
    let dispatcher = Dispatcher()
    dispatcher.addProbe("s", to: Recorder())
    let ids = Recorder<DispatchID>()
    dispatcher.register(
      middleware: RecordingMiddleware(
        will: { context, _, _ in
          if context.parent == nil {
            ids.record(context.dispatcher.dispatch(action: Ping(), mode: .sync).dispatchID)
            ids.record(context.id)
          }
          return .pass
        },
        did: { context, _, _ in ids.record(context.dispatch.id) }))
    let outer = dispatcher.dispatch(action: Ping(), mode: .sync).dispatchID
    let inner = ids.all[0]
    #expect(inner != outer)
    #expect(ids.all == [inner, inner, outer, outer])
  }
}
