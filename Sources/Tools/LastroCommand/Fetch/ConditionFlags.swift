// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Lastro
import LastroWire

/// The flags that ask for a resource only if it has changed, with curl's names and meanings.
struct ConditionFlags: ParsableArguments {
  @Option(
    name: [.customShort("z"), .customLong("time-cond")],
    help: "Fetch only if newer than a date or than a file; with - in front, only if not newer.")
  var timeCondition: String?
  @Flag(
    name: [.customShort("R"), .customLong("remote-time")],
    help: "Set the date of the file of -o or -O to the server's date.")
  var remoteTime = false
  @Option(name: .customLong("etag-save"), help: "File to write the response's ETag to.")
  var etagSave: String?
  @Option(
    name: .customLong("etag-compare"),
    help: "File with the ETag of an earlier response: fetch only if it has changed. The file may be missing.")
  var etagCompare: String?

  /// The flags that are set, by name.
  var names: [String] {
    [("--etag-save", etagSave != nil), ("--etag-compare", etagCompare != nil)].filter(\.1).map(\.0)
  }

  /// Sets the fields of a conditional request, unless `-H` does.
  ///
  /// - Parameter isSilent: whether to write nothing to standard error.
  func apply(to specification: inout RequestSpecification, isSilent: Bool) throws {
    if let etagCompare, let text = try? StandardInput.text(etagCompare, of: "--etag-compare") {
      let tag = text.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
      if !tag.isEmpty, !specification.decides(on: "If-None-Match") {
        specification.headers.append(("If-None-Match", tag))
      }
    }
    guard let timeCondition else { return }
    let isOlder = timeCondition.hasPrefix("-")
    let text = isOlder ? String(timeCondition.dropFirst()) : timeCondition
    guard let seconds = Self.date(text) else {
      if !isSilent {
        Console.error(
          "lastro: -z \(text.onOneLine) is neither a file nor a date; fetching without a condition")
      }
      return
    }
    let name = isOlder ? "If-Unmodified-Since" : "If-Modified-Since"
    if !specification.decides(on: name) { specification.headers.append((name, HTTPDate.text(seconds))) }
  }

  /// Returns the date of a file, or a date that is written as in HTTP or as in ISO 8601, in seconds since 1970.
  static func date(_ text: String) -> Int64? {
    var status = stat()
    if stat(text, &status) == 0 { return Int64(status.st_mtim.tv_sec) }
    let now = Int64(time(nil))
    if let seconds = HTTPDate.seconds(text, now: now) { return seconds }
    let whole = text.contains("T") ? text : text + "T00:00:00Z"
    let date = try? Date(text.contains("T") && !text.hasSuffix("Z") ? text + "Z" : whole, strategy: .iso8601)
    return date.map { Int64($0.timeIntervalSince1970) }
  }

  /// Writes the tag of a successful answer, and sets the date of its file.
  ///
  /// - Throws: `ResponseOutput.WriteFailure` if the file for the tag cannot be written. An existing file is then kept.
  func keep(_ report: Report, path: String?) throws {
    guard report.error == nil else { return }
    if let etagSave, let tag = report.field("etag") {
      let file = try OutputFile(etagSave)
      try ResponseOutput.writeAll(Data((tag + "\n").utf8), to: file.descriptor)
      try file.commit()
    }
    guard remoteTime, let path, report.status != 304,
      let seconds = report.field("last-modified").flatMap({ HTTPDate.seconds($0, now: Int64(time(nil))) })
    else { return }
    let moment = timespec(tv_sec: Int(seconds), tv_nsec: 0)
    _ = utimensat(AT_FDCWD, path, [moment, moment], 0)
  }
}
