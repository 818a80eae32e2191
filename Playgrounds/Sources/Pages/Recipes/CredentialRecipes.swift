// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl

/// Recipes for credentials.
enum CredentialRecipes {
  static func run(_ recipes: RecipeStage) async throws {
    let (engine, demoEngine, configuration) = (recipes.engine, recipes.demoEngine, recipes.configuration)
    let secret: Secret = "demo-secret"
    await recipes.check("bearer", prints: ["200"]) { try await bearer(demoEngine, configuration, "demo-token") }
    await recipes.check("client credentials", prints: ["200"]) { try await oauth(demoEngine, configuration, secret) }
    recipes.stage.check("a token was requested", recipes.demo.requests.count { $0.path == "/oauth/token" } == 1)
    await recipes.check("basic", prints: ["Basic"]) { try await basic(engine, configuration, secret) }
    await recipes.check("digest", prints: ["Digest"]) { try await digest(engine, configuration, secret) }
    let expected = try MessageDigest.hmacSHA256(of: Data("GET /signed".utf8), key: secret).hexadecimal
    await recipes.check("sign", prints: [expected]) { try await sign(engine, configuration, secret) }
  }

  private static func bearer(
    _ engine: CurlConfiguration, _ configuration: StackConfiguration, _ token: Secret
  ) async throws {
    var configuration = configuration
    // sample: bearer
    configuration.interceptors = [try .bearer(token, for: "https://api.example.org"), .retry]
    let api = try CurlNetworkStack(engine, configuration: configuration)
    print(try await api.fetch(.text("/private")).response.status.code)
    // end
  }

  private static func oauth(
    _ engine: CurlConfiguration, _ configuration: StackConfiguration, _ secret: Secret
  ) async throws {
    var configuration = configuration
    // sample: client credentials
    let client = try OAuth2Client(
      tokenURL: "https://api.example.org/oauth/token", id: "demo-client", authentication: .basic(secret))
    let tokens = try client.clientCredentials(scope: "read")
    let bearer = try BearerAuthenticator(source: tokens, origins: [Origin("https://api.example.org")])
    configuration.interceptors = [bearer, .retry]
    let api = try CurlNetworkStack(engine, configuration: configuration)
    print(try await api.fetch(.text("/private")).response.status.code)
    // end
  }

  private static func basic(
    _ engine: CurlConfiguration, _ configuration: StackConfiguration, _ password: Secret
  ) async throws {
    var configuration = configuration
    // sample: basic
    let origins = [try Origin("https://api.example.org")]
    configuration.interceptors = [try .basic(user: "ci", password: password, origins: origins)]
    let api = try CurlNetworkStack(engine, configuration: configuration)
    print(try await api.fetch(.text("/basic")).value)
    // end
  }

  private static func digest(
    _ engine: CurlConfiguration, _ configuration: StackConfiguration, _ password: Secret
  ) async throws {
    var configuration = configuration
    // sample: digest authentication
    let origins = [try Origin("https://api.example.org")]
    configuration.interceptors = [try .digest(user: "ci", password: password, origins: origins)]
    let api = try CurlNetworkStack(engine, configuration: configuration)
    print(try await api.fetch(.text("/digest")).value)
    // end
  }

  // sample: signer
  struct Signer: RequestSigner {
    let origins: [Origin], key: Secret
    func sign(_ base: ResourceRequest, bodyDigest: MessageDigest?, context: AttemptContext) throws -> ResourceRequest {
      let text = "\(base.head.method.rawValue) \(base.head.path ?? "/")"
      var request = base
      try request.setHeader("X-Signature", MessageDigest.hmacSHA256(of: Data(text.utf8), key: key).hexadecimal)
      return request
    }
  }
  // end

  private static func sign(
    _ engine: CurlConfiguration, _ configuration: StackConfiguration, _ key: Secret
  ) async throws {
    var configuration = configuration
    // sample: sign
    configuration.signers = [Signer(origins: [try Origin("https://api.example.org")], key: key)]
    let api = try CurlNetworkStack(engine, configuration: configuration)
    print(try await api.fetch(.text("/signed")).value)
    // end
  }
}
