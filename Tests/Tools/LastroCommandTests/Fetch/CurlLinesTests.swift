// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroSupport
import LastroTesting
import PeerSupport
import Testing

/// Tests of command lines that behave the same in curl and in `lastro fetch`: the requests sent, the output, the files
/// written, and success or failure.
@Suite("curl command lines", .timeLimit(.minutes(15)))
struct CurlLinesTests {
  /// The command lines. `URL` is replaced by the server's URL with a path unique to the line, `PORT` by the server's
  /// port, and `PATH` by the unique path.
  static let lines: [CurlLine] = [
    "-i URL/text", "-I URL/text", "-iL URL/redirect", "-sSfL URL/redirect",
    "-w '%{header_json} %{urlnum} %{time_redirect}' -o out URL/file/report.txt", "-H @fields.txt URL/text",
    "--output-dir a/b --create-dirs -O URL/files/report.txt", "--output-dir a --create-dirs -o c URL/text",
    "-f URL/404", "-u ann:word URL/text", "-u ann: URL/text", "-F title=Lisbon -F 'f=@up.txt;type=text/x' URL/text",
    "-G -d a=1 -d b=2 URL/text?z=0", "-G -I -d a=1 URL/text", "-O URL/files/report.txt?a=b",
    "-C - -O URL/files/report.txt",
    "-C - -o out URL/files/report.txt",
    "-w '%{http_code} %{size_download} %{content_type} %{num_redirects} %{url_effective} %header{x-a}%%\\n' -L URL/redirect",
    "-w '%{http_code} %{exitcode}\\n' -f URL/404", "-T up.txt URL/in/", "-T up.txt URL", "-T - URL/in/name",
    "-A agent/1.0 URL/text", "-A '' URL/text", "-m 30 --max-time 30 URL/text",
    "-x http://127.0.0.1:PORT http://up.invalid/PATH/text", "-4 http://localhost:PORT/PATH/text",
    "-6 http://localhost:PORT/PATH/text",
    "--compressed URL/gzip", "--data-binary @up.txt URL/text",
    "--data-urlencode 'q=a b&c=é~' --data-urlencode '=x y' --data-urlencode n@up.txt --data-urlencode x/y URL/text",
    "-f --retry 2 URL/flaky", "-b a=1 URL/text", "-e http://from.invalid/ URL/text", "-c jar URL/cookie",
    "--json '{\"a\":1}' URL/text", "--json @up.txt -H 'Accept: text/x' URL/text",
    "--connect-to up.invalid:80:127.0.0.1:PORT http://up.invalid/PATH/text",
    "--connect-to ::127.0.0.1:PORT http://up.invalid/PATH/text",
    "--resolve up.invalid:PORT:127.0.0.1 http://up.invalid:PORT/PATH/text",
    "-u ann:word -H Authorization: URL/text", "-A agent -H User-Agent: URL/text",
    "--json 1 -H Content-Type: URL/text", "-H Accept: URL/text", "--json 1 -H Accept: URL/text", "-D - -o out URL/text",
    "-XPOST -HX-A:b=c -da=1 URL/text", "-d @up.txt URL/text", "-d '' URL/text",
    "-d -5 URL/text", "--data-raw @up.txt URL/text", "-r 2-4 URL/range", "-D heads -o out URL/text", "-sSoout URL/text",
    "-H Content-Type: -d x URL/text", "-H 'X-A;' URL/text", "-X DELETE URL/text", "-sS http://127.0.0.1:1/",
    "-o out URL/text -O URL/files/report.txt", "URL/text URL/gzip --compressed", "-OO URL/a/one URL/a/two",
    "--remote-name-all URL/a/one URL/a/two", "-d x URL/text --next -X PUT URL/text",
    "--url-query 'a=b c' URL/text?z=0",
    "--fail-early -f URL/404 URL/text", "--path-as-is URL/a/../text", "--url URL/text",
    "-n --netrc-file netrc URL/text",
    "--limit-rate 1M URL/text", "-z 'Sat, 31 Jan 2026 10:00:00 GMT' URL/text", "-K config URL/text",
    "-sOJ URL/named",
    "--oauth2-bearer token URL/text", "-s -N -g -# --fail-with-body URL/text",
  ]

  @Test("The same command line gives the same result with curl and lastro", arguments: lines)
  func same(line: CurlLine) async throws {
    let server = try Self.server.get()
    async let curl = line.run(program: "/usr/bin/curl", tag: "c\(line.number)", on: server)
    async let lastro = line.run(program: Lastro.path, tag: "l\(line.number)", on: server)
    let (theirs, ours) = try await (curl, lastro)
    #expect(theirs.succeeded == !line.fails && (line.fails || !theirs.requests.isEmpty), "\(theirs.errors)")
    #expect(ours.requests == theirs.requests)
    #expect(ours.output == theirs.output)
    #expect(ours.files == theirs.files)
    #expect(ours.succeeded == theirs.succeeded, "\(ours.errors)")
  }

  @Test("A redirect that is not followed has the same output; only one of the programs counts it as failure")
  func redirect() async throws {
    let server = try Self.server.get()
    let line: CurlLine = "-s -w '%{redirect_url} %{url} %{url_effective}' --max-redirs 0 URL/redirect"
    let theirs = try await line.run(program: "/usr/bin/curl", tag: "c-away", on: server)
    let ours = try await line.run(program: Lastro.path, tag: "l-away", on: server)
    #expect(ours.output == theirs.output && ours.output.contains(" http://127.0.0.1:"), "\(ours.output)")
  }

  /// The server that all lines use.
  static let server = Result { try LoopbackServer.http(respond: CurlLineServer().respond) }
}

/// A command line that both programs can run.
struct CurlLine: Sendable, ExpressibleByStringLiteral, CustomTestStringConvertible {
  struct Outcome {
    var requests: [String]
    var output: String
    var errors: String
    var files: [String: String]
    var succeeded: Bool
  }

  let text: String

  init(stringLiteral text: String) { self.text = text }

  var testDescription: String { text }
  /// Whether the command line is expected to fail.
  var fails: Bool {
    // The server listens on IPv4 only.
    text.contains("-f URL/404") || text.contains("127.0.0.1:1/") || text.hasPrefix("-6 ")
  }
  /// The index of the line in the list, which is the same in every run.
  var number: Int { CurlLinesTests.lines.firstIndex { $0.text == text } ?? 0 }

  /// Splits the line into words like a shell that knows only single quotes.
  private func words(_ tag: String, _ port: Int) -> [String] {
    let whole = text.replacingOccurrences(of: "URL", with: "http://127.0.0.1:PORT/PATH")
      .replacingOccurrences(of: "PORT", with: "\(port)").replacingOccurrences(of: "PATH", with: tag)
    return whole.split(separator: "'", omittingEmptySubsequences: false).enumerated().flatMap { number, piece in
      number % 2 == 1 ? [String(piece)] : piece.split(separator: " ").map(String.init)
    }
  }

  func run(program: String, tag: String, on server: LoopbackServer) async throws -> Outcome {
    let directory = try PeerDirectory()
    let folder = directory.file("")
    try directory.write("one\ntwo & three\r\n", to: "up.txt")
    try directory.write("X-A: 1\n\nReferer: http://from.invalid/\nUser-Agent:\n", to: "fields.txt")
    try directory.write("machine 127.0.0.1 login ann password word\n", to: "netrc")
    try directory.write("# options\nheader = \"X-A: 1\"\ndata: a=1\nuser-agent agent\n", to: "config")
    let isCurl = program != Lastro.path
    // curl must not read the user's configuration file, nor print a progress meter.
    let first = isCurl ? ["-q", "-s"] : ["fetch"]
    let result = try await Lastro.run(
      first + words(tag, server.port), input: "typed", program: program, folder: folder)
    func plain(_ text: String) -> String { text.replacingOccurrences(of: "/\(tag)", with: "") }
    var files: [String: String] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: folder + name, isDirectory: &isFolder), !isFolder.boolValue else {
        continue
      }
      // The first lines of a cookie jar differ between the programs.
      files[name] = plain(
        directory.text(of: name).split(separator: "\n").filter { !$0.hasPrefix("# ") }.joined(separator: "\n"))
    }
    let seen = server.requests.filter { "\($0.target)/".contains("/\(tag)/") }
    return Outcome(
      requests: seen.map { plain(shown($0)) }, output: plain(result.text), errors: result.errors, files: files,
      succeeded: result.status == 0)
  }

  /// Returns the parts of a request that a line may affect. Fields that a client sends by default are left out, except
  /// the named ones.
  private func shown(_ request: LoopbackRequest) -> String {
    var names = [
      "authorization", "content-type", "cookie", "range", "referer", "x-a", "if-modified-since",
    ]
    if text.contains("-A ") { names.append("user-agent") }
    if ["--json", "--connect-to", "-H Accept"].contains(where: text.contains) { names += ["accept", "host"] }
    let fields = names.flatMap { name in request.head.values(name).map { "\(name): \($0)" } }
    let whole = ["\(request.method) \(request.target)"] + fields + [request.text]
    let text = whole.joined(separator: "\n")
    guard let boundary = request.head["Content-Type"]?.split(separator: "boundary=").last, text.contains("multipart")
    else { return text }
    return text.replacingOccurrences(of: boundary.trimmingCharacters(in: ["\""]), with: "BOUNDARY")
      .replacingOccurrences(of: "\"BOUNDARY\"", with: "BOUNDARY")
  }
}

/// A server that responds according to the last components of the path.
private final class CurlLineServer: Sendable {
  private let failed = Lock<Set<String>>([])
  /// The text `hello`, compressed by gzip.
  private static let compressed: [UInt8] = [
    0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 0x03, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0, 0x86, 0xA6, 0x10, 0x36, 5, 0, 0, 0,
  ]

  func respond(to request: LoopbackRequest) -> LoopbackResponse {
    let tag = request.pathSegments.first { $0.first == "c" || $0.first == "l" } ?? ""
    switch request.pathSegments.last ?? "" {
    case "redirect":
      return LoopbackResponse(
        status: 302, headers: ["Location": "/\(tag)/text", "X-A": "0"], body: Array("away\n".utf8))
    case "404": return .text("gone\n", status: 404)
    case "gzip": return LoopbackResponse(headers: ["Content-Encoding": "gzip"], body: Self.compressed)
    case "flaky":
      let isFirst = failed.withLock { $0.insert(tag).inserted }
      return isFirst ? .text("not yet\n", status: 503) : .text("now\n")
    case "cookie": return LoopbackResponse.text("set\n").adding("Set-Cookie", "a=1; Path=/")
    case "range":
      return LoopbackResponse.text("234", status: 206).adding("Content-Range", "bytes 2-4/10")
    case "named":
      return LoopbackResponse.text("named\n").adding("Content-Disposition", "attachment; filename=\"offered.txt\"")
    case "report.txt": return LoopbackResponse.text("0123456789\n").adding("ETag", "\"1\"")
    default: return LoopbackResponse.text("hello\n").adding("X-A", "1")
    }
  }
}
