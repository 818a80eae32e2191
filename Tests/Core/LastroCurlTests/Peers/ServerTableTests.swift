// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import PeerSupport
import TestSupport
import Testing

/// Everything that a client meets, at every server. ``ServerTable`` lists the empty cells with the reasons.
@Suite("Third-party servers and client behaviours", .peers(.sites), .timeLimit(.minutes(15)))
struct ServerTableTests {
  typealias Cell = ServerTable.Cell

  @Test("Each cell of the table is tested or has one reason why not")
  func table() {
    for cell in ServerTable.all {
      #expect(ServerTable.gaps.filter { $0.covers(cell) }.count <= 1, "\(cell.column) of \(cell)")
    }
    for gap in ServerTable.gaps { #expect(ServerTable.all.contains { gap.covers($0) }, "\(gap.reason)") }
  }

  @Test("The table has cells for Dante", .needsDante)
  func dante() { #expect(ServerTable.all.contains { $0.server == .dante }) }

  @Test("3 MiB arrive complete in both directions, with and without a length", arguments: ServerTable.cells(.sizes))
  func sizes(_ cell: Cell) async throws {
    let (site, stack) = (try cell.site(), try cell.stack())
    let content = pattern(PeerSite.fileBytes)
    let file = try await stack.send(.get, site.base + "/file")
    #expect(file.response.facts.httpVersion == cell.version.rawValue)
    #expect(sha256(file.value) == sha256(content))
    #expect(file.response.facts.bytesReceived == Int64(content.count))
    let chunks = AsyncStream<Data> { continuation in
      for start in stride(from: 0, to: content.count, by: 50_000) {
        continuation.yield(content[start..<min(content.count, start + 50_000)])
      }
      continuation.finish()
    }
    for body in [RequestBody.raw(content), .stream(chunks)] {
      let mirrored: RawAnswer
      do throws(RawFailure) {
        mirrored = try await stack.send(.post, site.base + "/mirror", body: body)
      } catch {
        guard body.length == nil, ServerTable.mayWantLength(cell), error.statusCode?.code == 411 else { throw error }
        continue
      }
      #expect(sha256(mirrored.value) == sha256(content))
      #expect(mirrored.response.facts.resends == 0)
    }
  }

  @Test(
    "A response sent before the body was read reaches the caller, at least with its status",
    arguments: ServerTable.cells(.early))
  func early(_ cell: Cell) async throws {
    let site = try cell.site()
    for size in [70_000, 3_000_000] {
      for status in ServerTable.earlyStatuses(cell.server) {
        let stack = try cell.stack()
        let url = "\(site.early)/early/\(status)"
        do throws(RawFailure) {
          let answer = try await stack.send(.post, url, body: .raw(pattern(size)))
          #expect(status == 200 && answer.text == "early", "\(status) \(size)")
          #expect(answer.response.facts.httpVersion == cell.version.rawValue)
        } catch {
          #expect(status != 200 && error.words == "http/unexpected_status", "\(status) \(size) \(error)")
          #expect(error.statusCode?.code == status, "\(size) \(error)")
        }
        #expect(try await stack.send(.get, site.base + "/page").text == PeerSite.page)
      }
    }
  }

  @Test("A body that waits for 100 is sent, and the 100 is not reported", arguments: ServerTable.cells(.expect))
  func expect(_ cell: Cell) async throws {
    let (site, stack) = (try cell.site(), try cell.stack())
    let told = EventRecorder<String>()
    var options = RequestOptions()
    options.onInterimResponse = { told.record("\($0.status.code)") }
    for _ in 0..<2 {
      let answer = try await stack.send(
        .post, site.base + "/mirror", headers: ["Expect": "100-continue"], body: .raw("pay"), options: options)
      #expect(answer.text == "pay")
      #expect(answer.response.facts.resends == 0)
    }
    #expect(told.events == [])
  }

  @Test("Ranges and validators pass through", arguments: ServerTable.cells(.ranges))
  func ranges(_ cell: Cell) async throws {
    let (url, stack) = (try cell.site().base + "/file", try cell.stack())
    let part = try await stack.send(.get, url, headers: ["Range": "bytes=10-19"])
    #expect(part.response.status.code == 206)
    #expect(part.value == pattern(20).dropFirst(10))
    #expect(part.response.headerFields[.contentRange] == "bytes 10-19/\(PeerSite.fileBytes)")
    let end = try await stack.send(.get, url, headers: ["Range": "bytes=-10"])
    #expect(end.value == pattern(PeerSite.fileBytes).suffix(10))
    let beyond = try await failure { try await stack.send(.get, url, headers: ["Range": "bytes=9999999-"]) }
    #expect(beyond.statusCode?.code == 416)
    let tag = try #require(part.response.headerFields[.eTag])
    let same = try await stack.send(.get, url, headers: ["If-None-Match": tag])
    #expect(same.response.status.code == 304 && same.value.isEmpty)
  }

  @Test(
    "Trailers are received after a response body and sent after a request body", arguments: ServerTable.cells(.trailers)
  )
  func trailers(_ cell: Cell) async throws {
    let (url, stack) = (try cell.site().base + "/trailers", try cell.stack())
    let sum = try #require(HTTPField.Name("x-sum"))
    // nginx and others send trailers only to clients that announce support for them.
    let answer = try await stack.send(.get, url, headers: ["TE": "trailers"])
    #expect(answer.text == "fine")
    #expect(answer.response.facts.trailers[sum] == "none")
    guard ServerTable.passesTrailersOn(cell) else { return }
    let chunks = AsyncStream<Data> { continuation in
      continuation.yield(Data("pay".utf8))
      continuation.finish()
    }
    let body = RequestBody.stream(chunks, trailers: { ["X-Sum": "of three"] })
    let sent = try await stack.send(.post, url, headers: ["TE": "trailers", "Trailer": "X-Sum"], body: body)
    #expect(sent.response.facts.trailers[sum] == "of three")
  }

  @Test(
    "An idle connection that the server closed fails no request, not even a POST", arguments: ServerTable.cells(.idle))
  func idle(_ cell: Cell) async throws {
    let (site, stack) = (try cell.site(), try cell.stack())
    let first = try await stack.send(.get, site.idle + "/page")
    #expect(first.response.facts.httpVersion == cell.version.rawValue)
    try await site.endIdleConnections()
    let second = try await stack.send(.post, site.idle + "/mirror", body: .raw("pay"))
    #expect(second.text == "pay")
    #expect(!second.response.facts.connectionReused)
    #expect(second.response.facts.resends == 0)
  }

  @Test(
    "Requests that meet a closing connection are answered over another", arguments: ServerTable.cells(.goodbye))
  func goodbye(_ cell: Cell) async throws {
    let (url, stack) = (try cell.site().base + "/page", try cell.stack())
    #expect(try await stack.send(.get, url).response.facts.httpVersion == cell.version.rawValue)
    // A request that is refused twice has to be tried again. Only lighttpd lets clients send many more concurrent
    // requests than it serves.
    let atOnce = PeerSite.requestsPerConnection * (cell.server == .lighttpd ? 6 : 1)
    for _ in 0..<240 / atOnce {
      try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<atOnce {
          group.addTask { try await stack.send(.get, url).text }
        }
        for try await text in group { #expect(text == PeerSite.page) }
      }
    }
  }
}

/// The table of HTTP features by server of another project and by HTTP version.
struct ServerTable {
  enum Version: String, CaseIterable, Sendable {
    case http1 = "1.1"
    case http2 = "2"
  }

  enum Column: String, CaseIterable, Sendable {
    /// Bodies of 3 MiB in both directions, with an announced length and without.
    case sizes
    /// An answer before the body is read.
    case early
    /// A request with `Expect: 100-continue`.
    case expect
    /// Ranges and validators.
    case ranges
    case trailers
    /// The end of an idle connection.
    case idle
    /// The end of a connection after a number of requests.
    case goodbye
  }

  struct Cell: Sendable, CustomTestStringConvertible {
    var server: PeerSite.Server
    var version: Version
    var column: Column
    var testDescription: String { "\(server), HTTP/\(version.rawValue)" }

    func site() throws -> PeerSite { try Peers.site(server) }

    func stack() throws -> CurlNetworkStack {
      let site = try site()
      let proxy = column == .idle ? site.idleProxy : site.proxy
      // A hang must fail, and soon enough to be noticed.
      var configuration = StackConfiguration.patient
      configuration.timeouts = try Timeouts(
        connect: .seconds(60), attempt: nil, idle: .seconds(60), total: .seconds(120))
      return try .direct(
        {
          $0.connection.tls.roots = .file(site.authority)
          $0.connection.httpVersion = version == .http1 ? .http1 : .http2
          if let proxy { $0.connection.proxy = .url(proxy) }
        }, configuration: configuration)
    }
  }

  /// Cells that are empty, with the reason.
  struct Gap: Sendable {
    var servers: [PeerSite.Server]
    var versions: [Version]
    var columns: [Column]
    var reason: String

    init(
      _ servers: [PeerSite.Server], _ versions: [Version] = Version.allCases, columns: [Column] = Column.allCases,
      _ reason: String
    ) {
      self.servers = servers
      self.versions = versions
      self.columns = columns
      self.reason = reason
    }

    func covers(_ cell: Cell) -> Bool {
      servers.contains(cell.server) && versions.contains(cell.version) && columns.contains(cell.column)
    }
  }

  static let gaps = [
    Gap([.nghttpd], [.http1], "it speaks HTTP/2 only"),
    Gap([.squid], [.http2], "it speaks HTTP/1.1 only; what it tunnels is the server's behind it"),
    Gap([.node, .hypercorn, .granian], columns: [.ranges], "they leave ranges to applications"),
    Gap([.nghttpd], [.http2], columns: [.ranges], "it serves whole files only"),
    Gap([.lighttpd], columns: [.trailers], "it drops those of the server behind it, and has none of its own"),
    Gap([.apache], [.http1], columns: [.trailers], "it drops those of the server behind it"),
    Gap([.hypercorn], [.http1], columns: [.trailers], "it offers applications none"),
    Gap([.granian], columns: [.trailers], "it offers applications none"),
    Gap([.squid], [.http1], columns: [.trailers], "it drops them"),
    Gap([.nghttpd], [.http2], columns: [.idle], "its limit is a minute, and cannot be set"),
    Gap([.granian], [.http2], columns: [.idle], "it asks by PING, and ends no connection that answers"),
    Gap([.haproxy, .caddy, .node, .granian], columns: [.goodbye], "they serve any number of requests"),
    Gap([.nghttpd], [.http2], columns: [.goodbye], "it serves any number of requests"),
    Gap([.squid], [.http1], columns: [.goodbye], "it serves any number of requests"),
    Gap(
      [.hypercorn], [.http2], columns: [.goodbye],
      "its GOAWAY says that it took the requests above its limit, and it answers none of them"),
    Gap([.apache], [.http2], columns: [.goodbye], "it counts requests over HTTP/1.1 only"),
  ]

  static let all = PeerSite.Server.installed.flatMap { server in
    Version.allCases.flatMap { version in
      Column.allCases.map { Cell(server: server, version: version, column: $0) }
    }
  }

  static func cells(_ column: Column) -> [Cell] {
    all.filter { cell in cell.column == column && !gaps.contains { $0.covers(cell) } }
  }

  /// Returns the statuses that a server sends before it has read the body.
  static func earlyStatuses(_ server: PeerSite.Server) -> [Int] {
    switch server {
    case .nginx, .caddy, .node, .hypercorn, .granian, .squid, .dante: [200, 401, 413]
    case .haproxy, .apache: [401, 413]
    case .lighttpd: [413]
    case .nghttpd: [200]
    }
  }

  /// Returns whether the server refuses (411) a body without a length for the server behind it.
  static func mayWantLength(_ cell: Cell) -> Bool { cell.server == .lighttpd && cell.version == .http2 }

  /// Returns whether the server passes a request's trailers on; its own trailer then repeats the received one.
  static func passesTrailersOn(_ cell: Cell) -> Bool { [.node, .haproxy].contains(cell.server) }
}
