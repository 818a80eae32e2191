// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import Lastro
import LastroCurl

struct TopCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "top",
    abstract: "Shows the connections, circuits, limits and quotas of a program that serves them on a Unix socket.",
    usage: "lastro top PATH [--every SECONDS] [--json]",
    discussion: """
      The program serves them with 'stack.serveSnapshot(at: PATH)'. On a terminal, the view is renewed each second until \
      Ctrl-C; elsewhere it is printed once.

      EXIT STATUS: as of fetch.
      """)

  @Argument(help: "The path of the socket.")
  var path: String
  @Option(help: "Renew the view after so many seconds, from 0.1 to 3600. Default: 1 on a terminal, else print once.")
  var every: Double?
  @Flag(help: "Print each snapshot as a line of JSON.")
  var json = false

  func validate() throws {
    if let every, !(0.1...3600).contains(every) { throw ValidationError("--every takes 0.1 to 3600 seconds.") }
  }

  func run() async throws {
    let isTerminal = isatty(STDOUT_FILENO) == 1
    let seconds: Double? = every ?? (isTerminal ? 1 : nil)
    let stack = try Console.checked { try makeStack() }
    repeat {
      let snapshot = try await read(stack)
      // On a terminal, moves the cursor to the top left corner, and clears the screen.
      let clearing = isTerminal ? "\u{1B}[H\u{1B}[2J" : ""
      try Console.out(json ? snapshot.jsonLine : clearing + Self.table(snapshot))
      if let seconds { try await Task.sleep(for: .seconds(seconds)) }
    } while seconds != nil
  }

  private func makeStack() throws -> CurlNetworkStack {
    var engine = CurlConfiguration()
    engine.connection.unixSocketPath = path
    engine.connection.proxy = .none
    return try CurlNetworkStack(engine)
  }

  private func read(_ stack: CurlNetworkStack) async throws -> StackSnapshot {
    do throws(HTTPFetchError<TextAPIError>) {
      return try await stack.fetch(.get("http://localhost/", as: StackSnapshot.self)).value
    } catch {
      let failure = Report.Failure(error.stage, error.code, error.message, hint: error.hint)
      Console.tell(failure)
      throw ExitStatus.of(failure.stage)
    }
  }

  /// Returns a table for each kind of part, whose columns are the names of the values.
  static func table(_ snapshot: StackSnapshot) -> String {
    let kinds = Dictionary(grouping: snapshot.parts, by: \.kind)
    guard !kinds.isEmpty else { return "no connections, circuits or limits yet" }
    return kinds.keys.sorted().map { kind in
      let parts = kinds[kind] ?? []
      let names = Set(parts.flatMap(\.values.keys)).sorted()
      var rows = [[kind] + names]
      for part in parts {
        rows.append([part.subject.onOneLine] + names.map { part.values[$0].map { "\($0)".onOneLine } ?? "-" })
      }
      return aligned(rows)
    }.joined(separator: "\n\n")
  }

  private static func aligned(_ rows: [[String]]) -> String {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      var line = row[0] + String(repeating: " ", count: widths[0] - row[0].count)
      for column in row.indices.dropFirst() {
        line += String(repeating: " ", count: widths[column] - row[column].count + 2) + row[column]
      }
      return line
    }.joined(separator: "\n")
  }
}
