// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroEveryday
import LastroSQLiteCache
import LastroTesting
import TestSupport
import Testing

@Suite("Responses on disk are separated by every credential field", .timeLimit(.minutes(15)))
struct CredentialFieldsOnDiskTests {
  /// The stores of one folder, one for each request. They stay open to the end: a store that closes locks the database
  /// for a moment, and on a busy machine for longer than the next store waits.
  private struct Stores {
    let folder = SQLiteCacheStoreTests.Folder()
    private var open: [SQLiteCacheStore] = []

    mutating func next(persistsCredentialed: Bool = false) throws -> SQLiteCacheStore {
      let store = try SQLiteCacheStore(directory: folder.path, persistsCredentialed: persistsCredentialed)
      open.append(store)
      return store
    }
  }

  private static func get(
    _ fields: HTTPFields, _ store: SQLiteCacheStore, _ origin: ScriptedTransport
  ) async throws -> String {
    var configuration = StackConfiguration()
    configuration.cache = HTTPCache(store: store)
    // On a busy machine, the store may take longer than a cache waits for it.
    configuration.timeSource = ManualClock().timeSource
    let stack = TransportNetworkStack(transport: origin, configuration: configuration)
    let resource = try RawHTTPResource.test(fields: fields)
    return String(decoding: try await stack.fetch(resource).value, as: UTF8.self)
  }

  @Test("A later run serves no user another's response", arguments: CredentialCase.all)
  func apart(given: CredentialCase) async throws {
    for persists in [false, true] {
      var stores = Stores()
      let origin = ScriptedTransport { (_, number) throws(TransportError) in
        .answer(200, fields: [.cacheControl: "max-age=600"], body: "body \(number)")
      }
      let users = [given.fields(of: "ann"), given.fields(of: "bob"), [:]]
      for (number, fields) in users.enumerated() {
        let store = try stores.next(persistsCredentialed: persists)
        #expect(try await Self.get(fields, store, origin) == "body \(number)")
      }
      let isFound = persists && given.kind != .opaque
      let store = try stores.next(persistsCredentialed: persists)
      #expect(try await Self.get(users[0], store, origin) == (isFound ? "body 0" : "body 3"))
    }
  }

  @Test("A response fetched with its own connection options is stored on disk and served only to the same options")
  func ways() async throws {
    var stores = Stores()
    let origin = ScriptedTransport { (_, number) throws(TransportError) in
      .answer(200, fields: [.cacheControl: "max-age=600"], body: "body \(number)")
    }
    func get(_ edit: (inout ConnectionOptions) -> Void) async throws -> String {
      var configuration = StackConfiguration()
      configuration.cache = HTTPCache(store: try stores.next())
      configuration.timeSource = ManualClock().timeSource
      var options = RequestOptions()
      var connection = ConnectionOptions()
      edit(&connection)
      options.connection = connection
      let stack = TransportNetworkStack(transport: origin, configuration: configuration)
      return String(decoding: try await stack.fetch(try RawHTTPResource.test(options: options)).value, as: UTF8.self)
    }
    let ways: [(inout ConnectionOptions) -> Void] = [
      { _ in }, { $0.proxy = .url("http://p.example:1") }, { $0.tls.roots = .pem([1]) }, { $0.unixSocketPath = "/a" },
      { $0.resolutions = [.init(host: "example.com", port: 443, addresses: ["10.0.0.1"])] },
    ]
    for _ in 0..<2 {
      for (number, way) in ways.enumerated() { #expect(try await get(way) == "body \(number)") }
    }
    // A client certificate is a credential, so these answers stay in memory.
    for number in 0..<2 {
      let own = try await get { $0.tls.identity = .init(certificate: .bytes([1])) }
      #expect(own == "body \(ways.count + number)")
    }
  }
}
