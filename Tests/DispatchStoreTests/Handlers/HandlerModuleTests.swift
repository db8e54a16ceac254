import DispatchStore
import Testing

/// Handlers in a `Part` that do more than reduce.
@Suite("Modules", .timeLimit(.minutes(10)))
struct HandlerModuleTests {
  private struct Fill: ActionType { let papers: Int }

  /// Changes a drawer by each kind of handler.
  private static let drawer = Handlers<Desktop.Drawer> {
    On(Raise.self) { drawer, action in drawer.papers += action.by }
    Applying(Lower.self) { action, drawer in
      let papers = drawer.model.papers
      drawer.updateModel { $0.papers = papers - action.by }
    }
    Performing(Fetch.self) { action, drawer in
      await Task.yield()
      drawer.updateModel { $0.papers += action.amount }
      await Task.yield()
      let more = drawer.version > 0 ? 100 : 0
      drawer.updateModel { $0.papers += more }
    }
    Operating(Fill.self) { operation, action, drawer in
      operation.updateModel { $0.papers += action.papers }
      operation.finish()
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func areTheSameInAPartAndByThemselves(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let whole = dispatcher.register(
      store: Store(identifier: "drawer", model: Desktop.Drawer(), handlers: Self.drawer))
    let desktop = dispatcher.addDesktop { Part(\.drawer) { Self.drawer } }
    let actions: [any ActionType] = [
      Raise(by: 50), Lower(by: 1), Fetch(amount: 20), Fill(papers: 1_000),
    ]
    for action in actions { await dispatcher.dispatch(action: action, mode: mode).ended() }
    #expect(whole.model.papers == 1_169 && whole.version == 5)
    #expect(desktop.model == Desktop(drawer: .init(papers: 1_169)) && desktop.version == 5)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func inPartsOfPartsChangeTheirPartAlone(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop {
      Part(\.drawer) {
        Part(\.papers) {
          Performing(Fetch.self) { action, papers in papers.updateModel { $0 += action.amount } }
          Applying(Lower.self) { action, papers in papers.updateModel { $0 -= action.by } }
        }
      }
    }
    await dispatcher.dispatch(action: Fetch(amount: 7), mode: mode).ended()
    await dispatcher.dispatch(action: Lower(by: 2), mode: mode).ended()
    #expect(desktop.model == Desktop(drawer: .init(papers: 5)))
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func theirUpdatesAreCommitsOfTheDispatch(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop { Part(\.drawer) { Self.drawer } }
    let (seen, transactions) = (Recorder<String>(), Recorder<DispatchID?>())
    let token = desktop.observe(.model) { change in
      seen.record("\(change.action!)")
      transactions.record(change.dispatchID)
    }
    var expected: [DispatchID?] = []
    for action in [Lower(by: 3), Fetch(amount: 4), Fill(papers: 5)] as [any ActionType] {
      let result = await dispatcher.dispatch(action: action, mode: mode).result
      expected += Array(repeating: result.dispatchID, count: action is Fetch ? 2 : 1)
    }
    let names = [Lower(by: 3), Fetch(amount: 4), Fetch(amount: 4), Fill(papers: 5)] as [Any]
    #expect(seen.all == names.map { "\($0)" })
    #expect(transactions.all == expected)
    token.cancel()
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .mainThread])
  func replyFromTheirPart(mode: Dispatcher.Mode) async throws {
    for kind in 0..<4 {
      let dispatcher = Dispatcher()
      let desktop = dispatcher.addDesktop {
        Part(\.drawer) {
          switch kind {
          case 0:
            Applying(Price.self) { action, drawer -> String in
              drawer.updateModel { $0.papers += 1 }
              return "\(action.item): \(drawer.model.papers)"
            }
          case 1:
            Applying(ifPresent: Price.self) { action, drawer -> String in
              try drawer.updateModel { $0.papers += 1 }
              return "\(action.item): \(drawer.model?.papers ?? 0)"
            }
          case 2:
            Performing(Price.self) { action, drawer -> String in
              await Task.yield()
              drawer.updateModel { $0.papers += 1 }
              return "\(action.item): \(drawer.model.papers)"
            }
          default:
            Performing(ifPresent: Price.self) { action, drawer -> String in
              await Task.yield()
              try drawer.updateModel { $0.papers += 1 }
              return "\(action.item): \(drawer.model?.papers ?? 0)"
            }
          }
        }
      }
      #expect(try await desktop.send(Price(item: "ink"), mode: mode).reply == "ink: 1")
      #expect(desktop.model.drawer.papers == 1)
    }
  }

  /// Other modules get them, and hooks see the actions themselves.
  @Test(arguments: Dispatcher.Mode.everyMode)
  func dispatchAnyActionToTheirStore(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let seen = Recorder<String>()
    dispatcher.register(
      middleware: RecordingMiddleware(did: { _, action, _ in seen.record("\(action)") }))
    let desktop = dispatcher.addDesktop {
      On(Raise.self) { desktop, action in desktop.raised += action.by }
      Part(\.drawer) {
        Performing(Fetch.self) { action, drawer in
          await drawer.send(Raise(by: action.amount))
          await drawer.dispatch([Raise(by: 10), Lower(by: 1)], mode: .async).ended()
          await drawer.dispatch(Raise(by: 100)).ended()
        }
        Applying(Lower.self) { action, drawer in drawer.updateModel { $0.papers -= action.by } }
      }
    }
    await dispatcher.dispatch(action: Fetch(amount: 5), mode: mode).ended()
    #expect(desktop.model == Desktop(raised: 115, drawer: .init(papers: -1)))
    #expect(
      seen.all
        == [Raise(by: 5), Raise(by: 10), Lower(by: 1), Raise(by: 100), Fetch(amount: 5)].map {
          (action: any ActionType) in "\(action)"
        })
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func ofAWeaklyHeldStoreRespond(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop(ownership: .weak) {
      Part(\.drawer) { Self.drawer }
    }
    let actions: [any ActionType] = [Lower(by: 1), Fetch(amount: 10), Fill(papers: 5)]
    for action in actions { await dispatcher.dispatch(action: action, mode: mode).ended() }
    #expect(desktop.model.drawer.papers == 114)
  }

  @Test func performInTheirIsolationAndAreCancelledWithTheirDispatch() async {
    let dispatcher = Dispatcher()
    let (began, cancelled) = (Latch(), Latch())
    let desktop = dispatcher.addDesktop {
      Part(\.drawer) {
        Performing(Fetch.self) { @MainActor action, drawer in
          MainActor.assertIsolated()
          drawer.updateModel { $0.papers += action.amount }
        }
        Performing(Raise.self) { _, drawer in
          await withTaskCancellationHandler {
            began.open()
            await cancelled.opened()
          } onCancel: {
            cancelled.open()
          }
          drawer.updateModel { $0.papers += 1 }
          try Task.checkCancellation()
        }
      }
    }
    await dispatcher.dispatch(action: Fetch(amount: 2)).ended()
    let handle = dispatcher.dispatch(action: Raise())
    await began.opened()
    handle.cancel()
    let result = await handle.result
    #expect(result["desktop"]?.isCancelled == true)
    #expect(desktop.model.drawer.papers == 3)
  }

  @Test func ofSiblingPartsLoseNothing() async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop {
      Part(\.drawer) { Self.drawer }
      Part(\.raised) {
        Applying(Price.self) { action, raised -> String in
          raised.updateModel { $0 += 1 }
          return action.item
        }
      }
    }
    let count = Load.count(200, long: 2_000)
    let ended = EventCount(of: 8 * count)
    await onOwnThreads(8) { index in
      for number in 0..<count {
        let mode = Dispatcher.Mode.everyMode[(index + number) % Dispatcher.Mode.everyMode.count]
        if index % 2 == 0 {
          dispatcher.dispatch(action: Fill(papers: 1), mode: mode) { ended.add() }
        } else {
          dispatcher.dispatch(action: Price(item: "ink"), mode: mode) { ended.add() }
        }
      }
    }
    await ended.full()
    #expect(desktop.model == Desktop(raised: 4 * count, drawer: .init(papers: 4 * count)))
    #expect(desktop.version == 8 * count)
  }

  @Test func getTheStoreItselfWhereTheyNeedIt() async {
    let dispatcher = Dispatcher()
    let raised = StateSelector(\Desktop.raised)
    let desktop = dispatcher.addDesktop {
      Applying(Lower.self) { action, store in
        let raised = store.select(raised)
        store.updateModel { $0.raised = raised - action.by }
      }
      Performing(Fetch.self) { action, store in
        for await change in store.stream(.part(\.raised), initial: true) {
          if change.value >= action.amount { break }
          store.updateModel { $0.raised += 1 }
        }
      }
      Operating(Fill.self) { operation, action, store in
        let raised = store.select(raised)
        operation.updateModel { $0.drawer.papers = raised + action.papers }
        operation.finish()
      }
    }
    for action in [Lower(by: 3), Fetch(amount: 5), Fill(papers: 1)] as [any ActionType] {
      await dispatcher.dispatch(action: action).ended()
    }
    #expect(desktop.model == Desktop(raised: 5, drawer: .init(papers: 6)))
  }
}

/// Handlers in a `Part` that may be gone.
@Suite("Modules that may be gone", .timeLimit(.minutes(10)))
struct OptionalModuleTests {
  private struct Fill: ActionType { let papers: Int }

  private static let secret = Handlers<Desktop.Drawer> {
    Applying(ifPresent: Lower.self) { action, secret in
      try secret.updateModel { $0.papers -= action.by }
    }
    Performing(ifPresent: Fetch.self) { action, secret in
      await Task.yield()
      try secret.updateModel { $0.papers += action.amount }
    }
    Operating(ifPresent: Fill.self) { operation, action, secret in
      operation.updateModel { $0.papers += action.papers }
      operation.finish()
    }
  }

  private static let actions: [any ActionType] = [Lower(by: 1), Fetch(amount: 10), Fill(papers: 5)]

  @Test(arguments: Dispatcher.Mode.everyMode)
  func changeNothingWhereTheirPartIsAbsent(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let desktop = dispatcher.addDesktop { Part(\.secret) { Self.secret } }
    for action in Self.actions {
      let result = await dispatcher.dispatch(action: action, mode: mode).result
      #expect(result.isSuccess && result.hasResponders)
    }
    #expect(desktop.model == Desktop() && desktop.version == 0)
    desktop.updateModel { $0.secret = .init() }
    for action in Self.actions { await dispatcher.dispatch(action: action, mode: mode).ended() }
    #expect(desktop.model.secret?.papers == 14 && desktop.version == 4)
  }

  @Test(arguments: [false, true])
  func failWhereTheirPartGoesMeanwhile(isObserved: Bool) async {
    let dispatcher = Dispatcher()
    let (began, goOn, updated) = (EventCount(of: 2), Latch(), Recorder<Bool>())
    let desktop = dispatcher.addDesktop {
      Part(\.secret) {
        Performing(ifPresent: Fetch.self) { action, secret in
          began.add()
          await goOn.opened()
          #expect(secret.model == nil)
          try secret.updateModel { $0.papers += action.amount }
        }
        Operating(ifPresent: Fill.self) { operation, action, _ in
          began.add()
          Task {
            await goOn.opened()
            updated.record(operation.updateModel { $0.papers += action.papers } != nil)
            operation.finish()
          }
        }
      }
    }
    desktop.updateModel { $0.secret = .init(papers: 1) }
    let fetch = dispatcher.dispatch(action: Fetch(amount: 1))
    let fill = dispatcher.dispatch(action: Fill(papers: 1))
    await began.full()
    desktop.updateModel { $0.secret = nil }
    let token =
      isObserved ? desktop.observe(.model) { _ in Issue.record("There is no commit.") } : nil
    goOn.open()
    let result = await fetch.result
    #expect(result["desktop"]?.errorCode == .partMissing)
    #expect(await fill.result.isSuccess && updated.all == [false])
    #expect(desktop.version == 2)
    token?.cancel()
  }

  @Test func stopTheProgramWhereTheyTakeAPartThatIsAlwaysThere() async throws {
    let process = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = Handlers<Desktop> {
        Part(\.secret) {
          Performing(Raise.self) { _, secret in secret.updateModel { $0.papers = 1 } }
        }
      }
    }
    let message = String(decoding: try #require(process).standardErrorContent, as: UTF8.self)
    #expect(message.contains("A Part's handler of Raise") && message.contains("ifPresent: Raise"))
  }
}
