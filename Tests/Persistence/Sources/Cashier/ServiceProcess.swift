import Foundation
import Programs

/// A process of the service, as the driver sees it.
final class ServiceProcess: RunningProgram {
  enum Event {
    case line(String)
    case timeout
    /// The process has ended, and all of its lines were read.
    case end
  }

  /// What the driver has done to it.
  enum State {
    case running
    /// It stands still.
    case stopped
    /// It goes on, and is to find out that there is another owner.
    case continued
    case killed
  }

  var state = State.running
  /// Whether it stands in line.
  var isWaiting = false
  /// Whether saving has failed, and it ends what waits.
  var isLosing = false
  /// How often it has become the owner.
  var terms = 0

  /// - Parameter isApart: Whether it has a numbering of processes of its own, as on another machine: nobody sees that it
  ///   has died.
  init(_ database: String, lease: Duration, declaresTick: Bool, isApart: Bool = false) throws {
    let program = CommandLine.arguments[0]
    try super.init(
      isApart ? "/usr/bin/unshare" : program,
      (isApart ? ["--pid", "--mount-proc", "--fork", "--kill-child", program] : [])
        + ["serve", database, "--lease", "\(Int(lease / .milliseconds(1)))"]
        + (declaresTick ? ["--tick"] : []))
  }

  func kill() {
    signal(SIGKILL)
    state = .killed
  }

  /// The next event of one of several processes.
  static func event(
    of processes: [ServiceProcess], until deadline: ContinuousClock.Instant
  ) -> (ServiceProcess, Event) {
    while true {
      for process in processes {
        if let line = process.lineRead() { return (process, .line(line)) }
      }
      let left = max(0, (deadline - .now) / .milliseconds(1))
      var polled = processes.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
      if poll(&polled, nfds_t(polled.count), Int32(left.rounded(.up))) == 0 {
        return (processes[0], .timeout)
      }
      for (process, polled) in zip(processes, polled) where polled.revents != 0 && !process.read() {
        return (process, .end)
      }
    }
  }
}
