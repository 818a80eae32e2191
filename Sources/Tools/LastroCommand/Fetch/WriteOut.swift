// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro

/// The format of curl's `-w`: variables as `%{name}` and `%header{name}`, `%%`, and `\n`, `\r`, `\t`.
struct WriteOut {
  private let format: String

  init(_ format: String) { self.format = format }

  /// Returns the format with its variables replaced.
  ///
  /// - Parameters:
  ///   - url: the URL of the command line.
  ///   - path: the path of the file for the body.
  ///   - number: the place of the URL among all.
  /// - Returns: the texts for standard output and for standard error.
  func text(of report: Report, url: String, path: String?, number: Int = 0) -> (output: String, errors: String) {
    var written = (output: "", errors: "")
    var toErrors = false
    func put(_ text: String) { if toErrors { written.errors += text } else { written.output += text } }
    var rest = format[...]
    while let character = rest.popFirst() {
      switch (character, rest.first) {
      case ("\\", let next?):
        rest.removeFirst()
        put(["n": "\n", "r": "\r", "t": "\t"][next] ?? "\\\(next)")
      case ("%", "%"): put(String(rest.removeFirst()))
      case ("%", _):
        guard let name = Self.word(behind: "{", &rest) else {
          guard let field = Self.word(behind: "header{", &rest) else {
            put("%")
            continue
          }
          put(report.headers.first { $0[0].lowercased() == field.lowercased() }?[1] ?? "")
          continue
        }
        switch name {
        case "stdout": toErrors = false
        case "stderr": toErrors = true
        case "onerror": if report.error == nil { return written }
        default:
          if Self.isUnknown(name, report) {
            written.errors += "lastro: -w: the value of '\(name)' is not known for this transfer" + "\n"
          } else if let value = Self.ofLine(name, url, number) ?? Self.value(of: name, report, path) {
            put(value)
          } else {
            written.errors += "lastro: -w: the variable '\(name.onOneLine)' is unknown" + "\n"
          }
        }
      default: put(String(character))
      }
    }
    return written
  }

  private static func word(behind start: String, _ rest: inout Substring) -> String? {
    guard rest.hasPrefix(start), let end = rest.firstIndex(of: "}") else { return nil }
    defer { rest = rest[rest.index(after: end)...] }
    return String(rest[..<end].dropFirst(start.count))
  }

  /// Returns whether the value of a variable, which curl has, is unknown here. Another value would mislead.
  private static func isUnknown(_ name: String, _ report: Report) -> Bool {
    let isRedirected = !report.redirects.isEmpty
    switch name {
    // The facts cover the last request only; curl sums all requests.
    case "size_header", "size_request", "time_namelookup", "time_connect", "time_appconnect", "time_pretransfer":
      return isRedirected
    // Nor do they tell of a connection that was opened, and failed before the request.
    case "num_connects":
      let stages: [FailureStage] = [.tls, .proxy, .trust]
      return isRedirected || report.error.map { stages.contains($0.stage) } == true && !hasConnected(report)
    // OpenSSL's number for a refusal is not kept, nor is that for a certificate that -k accepts unchecked.
    case "ssl_verify_result":
      let isUnchecked = report.url.lowercased().hasPrefix("https:") && report.facts?.trust == .plain
      return isUnchecked || report.error?.stage == .tls
    case "proxy_ssl_verify_result": return report.error?.stage == .proxy
    default: return false
    }
  }

  /// Returns a variable of the command line.
  private static func ofLine(_ name: String, _ url: String, _ number: Int) -> String? {
    switch name {
    case "url": url
    case "urlnum", "xfer_id": "\(number)"
    default: nil
    }
  }

  private static func value(of name: String, _ report: Report, _ path: String?) -> String? {
    switch name {
    case "json": report.jsonLine
    case "header_json": headers(report)
    case "filename_effective": path ?? ""
    case "http_code", "response_code": report.status.map { "\($0)" } ?? "000"
    case "content_type": report.field("content-type") ?? ""
    case "redirect_url": (300...399).contains(report.status ?? 0) ? target(report) : ""
    case "url_effective": report.url
    case "scheme": String(report.url.prefix { $0 != ":" }).uppercased()
    case "method": report.ledger?.method?.rawValue ?? ""
    case "http_version": report.httpVersion ?? "0"
    case "num_headers": "\(report.headers.count)"
    case "num_redirects": "\(report.redirects.count)"
    case "num_retries": "\(max(report.attempts.count, 1) - 1)"
    case "num_connects": hasConnected(report) ? "1" : "0"
    case "exitcode": "\(report.exitStatus)"
    case "errormsg": report.error?.message ?? ""
    default: measure(name, report) ?? time(name, report)
    }
  }

  /// Returns whether the last request opened a connection.
  private static func hasConnected(_ report: Report) -> Bool {
    guard let facts = report.facts, !facts.connectionReused else { return false }
    // Some tunnels have no address.
    return facts.remoteAddress != nil || facts.bytesSent > 0
  }

  /// Returns the target of a redirect that was not followed.
  private static func target(_ report: Report) -> String {
    guard let location = report.field("location"), !location.isEmpty else { return "" }
    return URL(string: location, relativeTo: URL(string: report.url))?.absoluteString ?? location
  }

  /// Returns the fields as curl writes them: by lower-case name, each with all of its values.
  private static func headers(_ report: Report) -> String {
    var values: [(name: String, values: [String])] = []
    for field in report.headers {
      let name = field[0].lowercased()
      if let index = values.firstIndex(where: { $0.name == name }) {
        values[index].values.append(field[1])
      } else {
        values.append((name, [field[1]]))
      }
    }
    return "{" + values.map { "\($0.name.jsonLine):\($0.values.jsonLine)" }.joined(separator: ",\n") + "\n}"
  }

  private static func measure(_ name: String, _ report: Report) -> String? {
    let facts = report.facts
    let received = max(report.downloadedBytes ?? facts?.bytesReceived ?? 0, 0)
    let total = facts.map { $0.timings.total / .seconds(1) } ?? 0
    let sent = report.uploadedBytes ?? 0
    switch name {
    case "size_download": return "\(received)"
    case "size_upload": return "\(sent)"
    case "speed_upload": return total > 0 ? "\(Int64(Double(sent) / total))" : "0"
    case "size_header": return "\(sizeOfHead(report))"
    case "size_request": return "\(facts?.bytesSent ?? 0)"
    case "speed_download": return total > 0 ? "\(Int64(Double(received) / total))" : "0"
    case "remote_ip": return facts?.remoteAddress ?? ""
    case "remote_port": return facts?.remotePort.map { "\($0)" } ?? "0"
    // A connection is identified by its local port.
    case "local_port": return facts?.connectionID.map { "\($0)" } ?? "0"
    case "conn_id": return facts?.connectionID.map { "\($0)" } ?? "-1"
    case "ssl_verify_result", "proxy_ssl_verify_result": return "0"
    default: return nil
    }
  }

  /// Returns the size of the last head as HTTP/1.1 writes it.
  private static func sizeOfHead(_ report: Report) -> Int {
    guard let status = report.status else { return 0 }
    let line = HTTPResponse(status: .init(code: status)).statusLine(report.httpVersion)
    return report.headers.reduce(line.utf8.count + 4) { $0 + $1[0].utf8.count + $1[1].utf8.count + 4 }
  }

  /// Returns a time in seconds with six decimals.
  private static func time(_ name: String, _ report: Report) -> String? {
    let timings = report.facts?.timings
    let redirecting = timeOfRedirects(report)
    let times: [String: Duration?] = [
      "time_namelookup": timings?.nameLookup, "time_connect": timings?.connect, "time_appconnect": timings?.tls,
      "time_pretransfer": timings?.requestStart, "time_starttransfer": timings?.firstByte.map { redirecting + $0 },
      "time_redirect": redirecting, "time_total": timings.map { redirecting + $0.total },
    ]
    guard let found = times[name] else { return nil }
    let microseconds = Int64((found ?? .zero) / .microseconds(1))
    let digits = "\(microseconds % 1_000_000)"
    return "\(microseconds / 1_000_000)." + String(repeating: "0", count: 6 - digits.count) + digits
  }

  /// Returns the time before the last request of the last attempt, if redirects came before it.
  private static func timeOfRedirects(_ report: Report) -> Duration {
    guard !report.redirects.isEmpty, let attempt = report.attempts.last, let last = report.answeredAfter else {
      return .zero
    }
    return max(attempt.duration - attempt.preparation - last, .zero)
  }
}
