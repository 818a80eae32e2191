// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroEveryday
import LastroSQLiteCache
import LastroTesting

private func standard() throws -> CurlNetworkStack {
  // sample: standard
  var configuration = StackConfiguration()
  configuration.cache = HTTPCache()
  let stack = try CurlNetworkStack(configuration: configuration)
  // end
  return stack
}

private func report() async throws {
  let clock = ManualClock()
  var configuration = StackConfiguration()
  configuration.timeSource = clock.timeSource
  configuration.cache = HTTPCache()
  let transport = ScriptedTransport { (request, _) throws(TransportError) in
    let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"7\""]
    let isKnown = request.head.headerFields[.ifNoneMatch] == "\"7\""
    return TransferResponse(
      head: HTTPResponse(status: isKnown ? .notModified : .ok, headerFields: fields),
      body: ResponseBody(Data((isKnown ? "" : "1.08").utf8)))
  }
  let stack = TransportNetworkStack(transport: transport, configuration: configuration)
  // sample: report
  for seconds in [0, 30, 31] {
    clock.advance(by: .seconds(seconds))
    let answer = try await stack.fetch(.raw(try ResourceRequest(url: "https://api.example.org/rates")))
    for note in answer.response.facts.notes { print(note.text) }
  }
  // end
}

private func principal() -> RequestOptions {
  // sample: principal
  var options = RequestOptions()
  options.principal = "account-4711"
  // end
  return options
}

private func mode() -> RequestOptions {
  // sample: mode
  var options = RequestOptions()
  options.cache = .revalidate
  // end
  return options
}

private func collapsing() -> StackConfiguration {
  // sample: collapsing
  var configuration = StackConfiguration()
  configuration.collapsesEqualRequests = true
  // end
  return configuration
}

private func disk(_ directory: String) throws -> StackConfiguration {
  var configuration = StackConfiguration()
  // sample: disk
  configuration.cache = try HTTPCache(directory: directory + "/http-cache")
  // end
  return configuration
}

extension Page {
  static let caching = Page("Caching") { stage in
    _ = try standard()
    _ = (principal(), mode(), collapsing())
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "lastro-caching-\(UInt64.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    _ = try disk(folder.path)
    try await stage.prints("report") { try await report() }
  }
}
