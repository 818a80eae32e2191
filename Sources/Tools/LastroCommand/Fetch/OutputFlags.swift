// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Lastro

/// The flags for the output, with curl's names and meanings.
struct OutputFlags: ParsableArguments {
  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: """
      File for the body, instead of standard output. It is written once a 2xx response is complete, and not before. \
      Repeatable, also with -O: one for each URL.
      """)
  var files: [String] = []
  @Flag(name: [.customShort("O"), .customLong("remote-name")], help: "The same, by the last part of the URL's path.")
  var remoteNames: Int
  @Flag(name: .customLong("remote-name-all"), help: "-O for every URL that has no -o.")
  var allRemoteNames = false
  @Flag(
    name: [.customShort("J"), .customLong("remote-header-name")],
    help: "With -O: use the name that the server offers (Content-Disposition). An existing file is kept.")
  var offeredName = false
  @Option(name: .customLong("output-dir"), help: "Folder for -o and -O.")
  var folder: String?
  @Flag(name: .customLong("create-dirs"), help: "Create missing folders of -o, -O and --output-dir.")
  var createsFolders = false
  @Flag(name: [.customShort("i"), .customLong("include")], help: "Print the heads before the body.")
  var include = false
  @Option(name: [.customShort("D"), .customLong("dump-header")], help: "File for the heads, - for standard output.")
  var dumpHeader: String?
  @Option(
    name: [.customShort("w"), .customLong("write-out")],
    help: "Text to print at the end, with curl's variables, such as '%{http_code}'; @FILE for a file's.")
  var writeOut: String?
  @Flag(name: [.customShort("f"), .customLong("fail")], help: "Print no body of a response outside 2xx.")
  var fail = false
  @Flag(name: [.customShort("s"), .customLong("silent")], help: "Print neither progress nor, without -S, errors.")
  var silent = false
  @Flag(name: .customLong("no-progress-meter"), help: "Print no progress.")
  var hidesProgress = false
  @Flag(name: [.customShort("S"), .customLong("show-error")], help: "Print errors despite -s.")
  var showError = false
  @Flag(name: .customLong("report"), help: "Print a report as one JSON object instead of the body.")
  var reports = false
  @Option(
    help: ArgumentHelp("File for an HTTP archive of all exchanges, without secrets and bodies.", valueName: "file"))
  var har: String?
  @Option(
    help: ArgumentHelp(
      "Folder for a trace of each fetch, without secrets and bodies, which 'lastro replay' runs again.",
      valueName: "folder"))
  var record: String?
  @Option(
    help: ArgumentHelp(
      """
      File for what is sent and received, for all requests; - for standard output, % for standard error. Secrets are \
      masked. Heads are written as lines, and the first 16 KiB of bodies as bytes, before they are encoded and after \
      they are decoded: the bytes on the wire, such as chunks, HTTP/2 frames and TLS, are not shown.
      """, valueName: "file"))
  var trace: String?
  @Option(
    name: .customLong("trace-ascii"),
    help: ArgumentHelp("The same, with bodies as text instead of hexadecimal digits.", valueName: "file"))
  var traceASCII: String?
  @Flag(
    inversion: .prefixedNo,
    help: "Indent JSON, or not. Default: only on a terminal, where it is also coloured unless NO_COLOR is set.")
  var pretty: Bool?
  @Flag(help: "Request no content coding, and print the body as it arrives, even if the server compressed it.")
  var raw = false
  @Flag(name: .shortAndLong, help: "Print on standard error what is sent and received, without secrets.")
  var verbose = false

  func validate() throws {
    if folder != nil, !hasFiles { throw ValidationError("--output-dir needs -o FILE or -O.") }
    if offeredName, !hasRemoteNames { throw ValidationError("-J needs -O.") }
    if trace != nil, traceASCII != nil { throw ValidationError("--trace and --trace-ascii exclude each other.") }
  }

  /// The value among those of `-o` that means `-O`, so that both keep their order. No argument can contain it.
  static let remoteMark = "\u{0}"

  /// The place for the body of a URL.
  private enum Place {
    case file(String)
    case remoteName
  }

  private var places: [Place] {
    (files + Array(repeating: Self.remoteMark, count: remoteNames))
      .map { $0 == Self.remoteMark ? .remoteName : .file($0) }
  }

  private func place(of index: Int) -> Place? {
    let places = places
    return index < places.count ? places[index] : allRemoteNames ? .remoteName : nil
  }

  private var hasFiles: Bool { !places.isEmpty || allRemoteNames }
  private var hasRemoteNames: Bool { files.contains(Self.remoteMark) || remoteNames > 0 || allRemoteNames }

  /// The first option for a file, by its short name; `nil` if there is none.
  var nameOfFile: String? { files.first.map { $0 == Self.remoteMark ? "-O" : "-o" } ?? (hasRemoteNames ? "-O" : nil) }

  /// The number of files that `-o` and `-O` name.
  var count: Int { files.count + remoteNames }

  /// Whether the body of a URL has a file.
  func hasFile(_ index: Int) -> Bool { place(of: index) != nil }

  /// The way in which JSON is printed on standard output; `nil` as it comes.
  var indentation: ResponseOutput.Indentation? {
    let isTerminal = isatty(STDOUT_FILENO) == 1
    guard pretty ?? (isTerminal && !raw) else { return nil }
    let environment = ProcessInfo.processInfo.environment
    let isPlain = environment["NO_COLOR"].map { !$0.isEmpty } ?? false || environment["TERM"] == "dumb"
    return isTerminal && !isPlain ? .colored : .plain
  }

  var tellsFailures: Bool { !silent || showError }

  /// Returns the path of the file for the body; `nil` for standard output.
  ///
  /// - Parameter index: the place of the URL among those of the request.
  func path(for url: String, index: Int) throws(ConfigurationError) -> String? {
    guard let name = try name(for: url, index: index) else { return nil }
    let path = folder.map { "\($0)/\(name)" } ?? name
    if createsFolders, let end = path.lastIndex(of: "/"), end > path.startIndex {
      // If that fails, opening the file fails too, and reports the reason.
      try? FileManager.default.createDirectory(
        atPath: String(path[..<end]), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o750])
    }
    return path
  }

  private func name(for url: String, index: Int) throws(ConfigurationError) -> String? {
    switch place(of: index) {
    case nil: return nil
    case .file(let file): return file == "-" ? nil : file
    case .remoteName: break
    }
    let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
    let path = rest.prefix { !"?#".contains($0) }.drop { $0 != "/" }
    // Not percent-decoded, so that an escaped slash is not a separator. Other invalid characters make the URL invalid.
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    guard !name.isEmpty, name != ".", name != ".." else {
      // -J falls back to this name.
      if offeredName { return "lastro_response" }
      throw ConfigurationError("-O: the URL's path does not end in a name", hint: "name the file by -o FILE")
    }
    return String(name)
  }

  /// Returns the format of `-w`.
  func format() throws -> WriteOut? {
    guard let writeOut else { return nil }
    guard writeOut.hasPrefix("@") else { return WriteOut(writeOut) }
    return WriteOut(try StandardInput.text(String(writeOut.dropFirst()), of: "-w"))
  }
}
