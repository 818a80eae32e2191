// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting

/// Recipes for single requests.
enum RequestRecipes {
  static func run(_ recipes: RecipeStage) async throws {
    let api = recipes.api
    let routes = RecipeServer()
    let plain = try LoopbackServer.http { routes.respond(to: $0) }
    defer { plain.stop() }
    await recipes.check("get JSON", prints: ["ann"]) { try await getJSON(plain.baseURL) }
    await recipes.check("post JSON", prints: ["201 bob"]) { await postJSON(api, "bob") }
    await recipes.check("the API's error", prints: ["422 a name is missing"]) { await postJSON(api, "") }
    await recipes.check("query", prints: [#"["Ann Lee"] ["ann"]"#]) { try await query(api) }
    let last = recipes.server.requests.suffix(2).map(\.target)
    recipes.stage.check("items are encoded", last == ["/people?name=Ann%20Lee", "/people?name=ann&page=2"])
    await recipes.check("headers", prints: ["acme"]) { try await headers(api) }
    await recipes.check("form", prints: ["name=Ann+Lee&city=Lisbon"]) { try await form(api) }
    await recipes.check("charset", prints: ["Olá"]) { try await text(api) }
    await recipes.check("redirects", prints: ["1 https://api.example.org/people/1"]) { try await redirects(api) }
    await recipes.check("many", prints: ["20 people"]) { try await many(api) }
    let count = recipes.server.requests.count
    transcript.removeAll()
    await explain(api)
    let explanation = transcript.removeAll().joined()
    recipes.stage.check("explain", explanation.contains("no interceptor asks for a retry"))
    recipes.stage.check("explaining sends nothing", recipes.server.requests.count == count)
  }

  private static func getJSON(_ url: String) async throws {
    // sample: get JSON
    let api = try CurlNetworkStack(baseURL: url, interceptors: [.retry])
    let ann = try await api.fetch(.get("/people/1", as: Person.self)).value
    print(ann.name)
    // end
  }

  private static func postJSON(_ api: CurlNetworkStack, _ name: String) async {
    // sample: post JSON
    do {
      let made = try await api.fetch(.post("/people", json: ["name": name], as: Person.self, or: Problem.self))
      print(made.response.status.code, made.value.name)
    } catch {
      print(error.statusCode?.code ?? 0, error.apiError?.message ?? error.message)
    }
    // end
  }

  private static func query(_ api: CurlNetworkStack) async throws {
    // sample: query
    let filter = ["name": "Ann Lee"]  // known at run time
    let found = try await api.fetch(.get("/people", query: QueryItems(filter), as: [Person].self)).value
    let page = try await api.fetch(.get("/people", query: ["name": "ann", "page": 2], as: [Person].self)).value
    print(found.map(\.name), page.map(\.name))
    // end
  }

  private static func headers(_ api: CurlNetworkStack) async throws {
    // sample: headers
    let answer = try await api.fetch(.text("/echo", headers: ["X-Tenant": "acme", .accept: "text/plain"]))
    print(answer.value)
    // end
  }

  private static func form(_ api: CurlNetworkStack) async throws {
    // sample: form
    let body = RequestBody.form(["name": "Ann Lee", "city": "Lisbon"])
    let answer = try await api.fetch(.send(.post, "/echo", body: body))
    print(String(decoding: answer.value, as: UTF8.self))
    // end
  }

  private static func text(_ api: CurlNetworkStack) async throws {
    // sample: text
    let page = try await api.fetch(.text("/page")).value  // sent as iso-8859-1
    print(page)
    // end
  }

  private static func redirects(_ api: CurlNetworkStack) async throws {
    // sample: redirects
    var options = RequestOptions()
    options.redirects = .follow(limit: 3)
    let answer = try await api.fetch(.get("/old", as: Person.self, options: options))
    print(answer.response.redirects.count, answer.response.url)
    // end
  }

  private static func many(_ api: CurlNetworkStack) async throws {
    // sample: many
    let people = try await withThrowingTaskGroup(of: Person.self) { group in
      var people: [Person] = []
      for id in 1...20 {
        if id > 4, let person = try await group.next() { people.append(person) }  // four at a time
        group.addTask { try await api.fetch(.get("/people/\(id)", as: Person.self)).value }
      }
      for try await person in group { people.append(person) }
      return people
    }
    print(people.count, "people")
    // end
  }

  private static func explain(_ api: CurlNetworkStack) async {
    // sample: explain
    print(await api.explain(.get("/people/1", as: Person.self)))
    // end
  }
}
