// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl

/// Recipes for retries, limits and errors.
enum FailureRecipes {
  static func run(_ recipes: RecipeStage) async throws {
    let (engine, configuration) = (recipes.demoEngine, recipes.configuration)
    let api = recipes.demoAPI
    let github = try recipes.stage.github(StackConfiguration(baseURL: "https://api.github.com"))
    await recipes.check("backoff", prints: ["4 attempts"]) { try await backoff(engine, configuration) }
    await recipes.check("one call", prints: ["2 attempts"]) { try await oneCall(api) }
    await recipes.check("idempotency key", prints: ["receipt 1 after 2 attempts"]) { try await key(api) }
    let payments = recipes.demo.requests.filter { $0.path == "/payments" }.map { $0.headers[.idempotencyKey] }
    recipes.stage.check("both attempts had one key", payments.count == 2 && payments[0] == payments[1])
    await recipes.check("too many requests", prints: ["again in 7.0 seconds"]) { await tooMany(api) }
    await recipes.stage.prints("error") { await error(github) }
    await recipes.check("deadline", prints: ["total_timeout"]) { try await deadline(api) }
    await recipes.check("timeouts", prints: ["octocat"]) { try await timeouts(engine, configuration) }
    await recipes.check("cancel", prints: ["cancelled"]) { try await cancel(api) }
  }

  private static func backoff(_ engine: CurlConfiguration, _ configuration: StackConfiguration) async throws {
    var configuration = configuration
    // sample: backoff
    let patient = try HTTPRetryPolicy.standard(attempts: 5, baseDelay: .milliseconds(20), cap: .seconds(5))
    configuration.interceptors = [.retry(patient)]
    let api = try CurlNetworkStack(engine, configuration: configuration)
    let answer = try await api.fetch(.text("/flaky/backoff", query: ["failures": 3]))
    print(answer.response.ledger.attempts.count, "attempts")
    // end
  }

  private static func oneCall(_ api: CurlNetworkStack) async throws {
    // sample: one call
    var resource = HTTPResource<String, TextAPIError>.text("/flaky/one")
    resource.interceptors = [.retry(.maxRetries(2))]
    let answer = try await api.fetch(resource)
    print(answer.response.ledger.attempts.count, "attempts")
    // end
  }

  private static func key(_ api: CurlNetworkStack) async throws {
    // sample: idempotency key
    struct Receipt: Decodable, Sendable { let id: Int }
    var pay = HTTPResource<Receipt, Problem>.post("/payments", json: ["amount": 5], query: ["failures": 1])
    pay.options.idempotency = .generatedKey  // the same Idempotency-Key for each attempt of a call
    pay.interceptors = [.retry]
    let paid = try await api.fetch(pay)
    print("receipt \(paid.value.id) after \(paid.response.ledger.attempts.count) attempts")
    // end
  }

  private static func tooMany(_ api: CurlNetworkStack) async {
    // sample: too many requests
    do {
      print(try await api.fetch(.text("/limited/recipe", query: ["retry_after": 7])).value)
    } catch {
      print(error.retryAfter.map { "again in \($0)" } ?? error.message)  // such as 7.0 seconds
    }
    // end
  }

  private static func error(_ api: CurlNetworkStack) async {
    // sample: error
    do {
      _ = try await api.fetch(.get("/users/nobody", as: Person.self, or: Problem.self))
    } catch {
      print(error)  // one line: what failed, where, and what to do
      print(error.ledger)  // every attempt
    }
    // end
  }

  private static func deadline(_ api: CurlNetworkStack) async throws {
    // sample: deadline
    var options = RequestOptions()
    options.timeouts = try Timeouts(total: .milliseconds(300))  // for redirects, waits, retries and the body too
    do {
      _ = try await api.fetch(.text("/slow", options: options))
    } catch {
      print(error.code)
    }
    // end
  }

  private static func timeouts(_ engine: CurlConfiguration, _ configuration: StackConfiguration) async throws {
    var configuration = configuration
    // sample: timeouts
    configuration.timeouts.connect = .seconds(5)
    configuration.timeouts.attempt = .seconds(20)
    configuration.timeouts.total = .seconds(30)
    configuration.streamTimeouts.idle = .seconds(30)  // for streams, which have no total timeout
    let api = try CurlNetworkStack(engine, configuration: configuration)
    // end
    struct User: Decodable, Sendable { let login: String }
    print(try await api.fetch(.get("/users/octocat", as: User.self)).value.login)
  }

  private static func cancel(_ api: CurlNetworkStack) async throws {
    // sample: cancel
    let task = Task { try await api.fetch(.text("/slow")).value }
    task.cancel()
    do {
      print(try await task.value)
    } catch let error as HTTPFetchError<TextAPIError> where error.isCancelled {
      print("cancelled")
    }
    // end
  }
}
