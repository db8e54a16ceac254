import Foundation

/// Runs one path, for a program that counts its instructions; no `async` code, which callgrind can't
/// follow from the first stack to the next.
@main
enum Program {
  static let help = """
    usage: instructions PATH COUNT

    Dispatches COUNT actions (1 to 10,000,000) on one path through the library, and prints nothing. The
    paths: \(Path.all.map(\.name).joined(separator: ", ")).
    """

  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if arguments == ["--help"] {
      print(help)
      return
    }
    guard arguments.count == 2 else { fail("a path and a count are needed") }
    guard let path = Path.all.first(where: { $0.name == arguments[0] }) else {
      fail("there is no path '\(arguments[0])'")
    }
    guard let count = Int(arguments[1]), (1...10_000_000).contains(count) else {
      fail("'\(arguments[1])' is no count from 1 to 10000000")
    }
    path.run(count)
  }

  private static func fail(_ message: String) -> Never {
    FileHandle.standardError.write(Data("instructions: \(message); see --help\n".utf8))
    exit(64)
  }
}
