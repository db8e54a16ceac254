// The program's messages on standard error, besides the progress.
extension Program {
  func printMessage(_ message: String) {
    try? messages.write("churn: \(message)\n")
  }

  func printMessage(_ rejections: Rejections) {
    for rejection in rejections.first { printMessage("\(rejection)") }
    let rest = rejections.count - rejections.first.count
    if rest > 0 { printMessage("and \(Numbers.grouped(rest)) more malformed records") }
  }

  /// Reports broken promises; returns whether there are any.
  func reportBroken(_ findings: Findings) -> Bool {
    var isBroken = false
    if let cut = findings.cut, !cut.isWhole {
      printMessage(
        "\(cut.title.text) broke its promise: \(cut.cut.dispatched) actions were dispatched")
      isBroken = true
    }
    let broken = findings.verdicts.filter { !$0.broken.isEmpty }
    for verdict in broken {
      for difference in verdict.broken {
        printMessage("\(verdict.measurement.name) broke its promise: \(difference)")
      }
    }
    return isBroken || !broken.isEmpty
  }
}
