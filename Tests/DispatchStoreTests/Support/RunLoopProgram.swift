import DispatchStore
import Foundation

#if os(Linux)
  /// A program whose main is not `async`, and that stays alive by `RunLoop.main.run()`.
  ///
  /// The test process starts again as this program: the loader calls `start` on the main thread, before
  /// the test runner's own main, which is `async` and so serves the main queue as `dispatchMain()` does.
  enum RunLoopProgram {
    private static let variable = "DISPATCHSTORE_RUN_LOOP_PROGRAM"

    /// Replaces this process by the program; it exits with 0 where all was as promised.
    static func execute() -> Never {
      setenv(variable, "yes", 1)
      let path = strdup("/proc/self/exe")!
      var arguments: [UnsafeMutablePointer<CChar>?] = [path, nil]
      execv(path, &arguments)
      fatalError("execv failed with error \(errno).")
    }

    fileprivate static func runIfAsked() {
      guard getenv(variable) != nil else { return }
      alarm(30)
      dispatch()
      RunLoop.main.run()
    }

    private static func dispatch() {
      let dispatcher = Dispatcher()
      let stage = dispatcher.addStage()
      stage.dispatch(.adds("sync"), mode: .sync)
      let actions = [Script.adds("main"), .suspends { _ in await Task.yield() }]
      dispatcher.dispatch(actions: actions, mode: .mainThread) {
        let wasOnMain = Here.isMainQueue && Thread.isMainThread
        dispatcher.dispatch(action: Script.adds("serial"), mode: .serial) {
          dispatcher.dispatch(action: Script.adds("main again"), mode: .mainThread) {
            let isWhole = stage.model == ["sync", "main", "serial", "main again"]
            exit(isWhole && wasOnMain && Here.isMainQueue ? 0 : 1)
          }
        }
      }
    }
  }

  @section(".init_array") @used
  private let start: @convention(c) () -> Void = { RunLoopProgram.runIfAsked() }
#endif
