// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Lastro

/// The flags for the output, with curl's names and meanings.
struct OutputFlags: ParsableArguments {
  @Option(
    name: [.customShort("o"), .customLong("output")],
    help:
      "File for the body, instead of standard output. It is there when all of a 2xx answer is there, and not before.")
  var file: String?
  @Flag(name: [.customShort("O"), .customLong("remote-name")], help: "The same, by the last part of the URL's path.")
  var remoteName = false
  @Option(name: .customLong("output-dir"), help: "Folder for -o and -O.")
  var folder: String?
  @Flag(name: .customLong("create-dirs"), help: "Make the folders of -o, -O and --output-dir that are not there.")
  var createsFolders = false
  @Flag(name: [.customShort("i"), .customLong("include")], help: "Print heads in front of the body.")
  var include = false
  @Option(name: [.customShort("D"), .customLong("dump-header")], help: "File for the heads, - for standard output.")
  var dumpHeader: String?
  @Option(
    name: [.customShort("w"), .customLong("write-out")],
    help: "Text to print at the end, with curl's variables, such as '%{http_code}'; @FILE for a file's.")
  var writeOut: String?
  @Flag(name: [.customShort("f"), .customLong("fail")], help: "Print no body of an answer outside 2xx.")
  var fail = false
  @Flag(name: [.customShort("s"), .customLong("silent")], help: "No progress, and no word of failures without -S.")
  var silent = false
  @Flag(name: .customLong("no-progress-meter"), help: "No progress.")
  var hidesProgress = false
  @Flag(name: [.customShort("S"), .customLong("show-error")], help: "Tell of failures despite -s.")
  var showError = false
  @Flag(name: .customLong("report"), help: "Print one JSON object that tells how it went, instead of the body.")
  var reports = false
  @Flag(help: "Ask for no content coding, and print the body as it comes: compressed where the server compresses it.")
  var raw = false
  @Flag(name: .shortAndLong, help: "Tell on standard error what is sent and received, without secrets.")
  var verbose = false

  func validate() throws {
    if file != nil, remoteName { throw ValidationError("-o and -O exclude each other.") }
    if folder != nil, file == nil, !remoteName { throw ValidationError("--output-dir needs -o FILE or -O.") }
  }

  var tellsFailures: Bool { !silent || showError }

  /// Returns the path of the file for the body; `nil` for standard output.
  func path(for url: String) throws(ConfigurationError) -> String? {
    guard let name = try name(for: url) else { return nil }
    let path = folder.map { "\($0)/\(name)" } ?? name
    if createsFolders, let end = path.lastIndex(of: "/"), end > path.startIndex {
      // If that fails, opening the file fails too, and reports the reason.
      try? FileManager.default.createDirectory(
        atPath: String(path[..<end]), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o750])
    }
    return path
  }

  private func name(for url: String) throws(ConfigurationError) -> String? {
    guard remoteName else { return file == "-" ? nil : file }
    let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
    let path = rest.prefix { !"?#".contains($0) }.drop { $0 != "/" }
    // Not percent-decoded, so that an escaped slash is not a separator. Other invalid characters make the URL invalid.
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    guard !name.isEmpty, name != ".", name != ".." else {
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
