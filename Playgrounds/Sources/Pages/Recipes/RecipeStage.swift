// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting

// sample: models
struct Person: Decodable, Sendable { let id: Int, name: String }
struct Problem: Error, Decodable, Sendable { let message: String }
// end

/// The environment of the recipes: the servers of api.example.org, and an engine that connects to one of them.
struct RecipeStage: Sendable {
  static let host = "api.example.org"

  let stage: Stage
  let root: CertificateAuthority
  let certificate: MintedCertificate
  let server: LoopbackServer
  /// A server for recipes about failures and tokens.
  let demo: LoopbackServer
  let engine: CurlConfiguration
  let demoEngine: CurlConfiguration
  let configuration = StackConfiguration(baseURL: "https://\(host)")
  let api: CurlNetworkStack
  let demoAPI: CurlNetworkStack
  /// A folder for the files of recipes.
  let folder: String

  init(_ stage: Stage) throws {
    self.stage = stage
    root = try CertificateAuthority(commonName: "Example Root")
    certificate = try root.issue(hosts: [Self.host], days: 0...47)
    let routes = RecipeServer()
    let path = try stage.socketPath()
    server = try LoopbackServer.http(unixSocketPath: path, tls: LoopbackTLS(certificate)) { routes.respond(to: $0) }
    let demoPath = try stage.socketPath()
    demo = try LoopbackServer.demo(unixSocketPath: demoPath, tls: LoopbackTLS(certificate))
    engine = Self.engine(path, rootPEM: root.rootPEM)
    demoEngine = Self.engine(demoPath, rootPEM: root.rootPEM)
    api = try CurlNetworkStack(engine, configuration: configuration)
    demoAPI = try CurlNetworkStack(demoEngine, configuration: configuration)
    folder = try stage.socketPath() + ".files"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  private static func engine(_ path: String, rootPEM: String) -> CurlConfiguration {
    var engine = CurlConfiguration()
    engine.connection.unixSocketPath = path
    engine.connection.tls.roots = .pem(Array(rootPEM.utf8))
    engine.connection.proxy = .none
    return engine
  }

  func stop() {
    server.stop()
    demo.stop()
  }

  /// Writes a file for a recipe, and returns its path.
  func file(_ name: String, _ text: String) throws -> String {
    let path = "\(folder)/\(name)"
    try Data(text.utf8).write(to: URL(filePath: path))
    return path
  }

  /// Runs a recipe, and checks what it prints.
  func check(_ recipe: String, prints expected: [String], _ sample: () async throws -> Void) async {
    transcript.removeAll()
    do {
      try await sample()
      let printed = transcript.removeAll()
      stage.check(recipe, printed == expected)
      if printed != expected { say("✗ \(recipe) printed \(printed), not \(expected)") }
    } catch {
      stage.check("\(recipe): \(error)", false)
    }
  }
}
