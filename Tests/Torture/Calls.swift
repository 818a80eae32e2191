// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroCurl
import LastroEveryday

/// The calls that the command line does not have: `torture-calls CALL URL`. It prints and ends as `lastro` does.
@main
enum Calls {
  static func main() async {
    let (call, url) = (CommandLine.arguments[1], CommandLine.arguments[2])
    do {
      let tokens = try OAuth2Client(tokenURL: url + "/token", id: "torture", authentication: .basic(Secret("secret")))
      let source = try tokens.clientCredentials()
      let bearer = try BearerAuthenticator(source: source, origins: [Origin(url)])
      let interceptors: [any HTTPResourceInterceptor] = call == "token" ? [bearer, .retry] : []
      let stack = try CurlNetworkStack(configuration: StackConfiguration(interceptors: interceptors))
      var failure: (any Error)?
      do {
        try await perform(call, url, on: stack)
      } catch {
        failure = error
      }
      await stack.shutDown()
      if let failure { throw failure }
    } catch let error as HTTPFetchError<any Error> {
      fail("\(error.stage)/\(error.code): \(error.message)")
    } catch let error as TransportError {
      fail("\(error.stage)/\(error.code): \(error.message)")
    } catch {
      fail("cannot be classified: \(error)")
    }
  }

  private static func perform(_ call: String, _ url: String, on stack: CurlNetworkStack) async throws {
    switch call {
    case "token":
      let data = try await stack.fetch(RawHTTPResource.raw(ResourceRequest(url: url + "/private"))).value
      print(String(decoding: data, as: UTF8.self), terminator: "")
    case "upload":
      var options = UploadOptions()
      options.metadata = ["filename": "body"]
      let upload = try await stack.upload(
        file: "body", to: RawHTTPResource.raw(ResourceRequest(url: url + "/uploads")), options: options)
      print(upload.response.status.code)
    default: fail("cannot perform \(call)")
    }
  }

  private static func fail(_ text: String) -> Never {
    FileHandle.standardError.write(Data("lastro: \(text)\n".utf8))
    exit(1)
  }
}
